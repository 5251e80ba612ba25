from readme import README, with_attacks


def test_readme_says_what_was_measured():
    text = README.read_text()
    assert text == with_attacks(text), "python3 vm/readme.py"
