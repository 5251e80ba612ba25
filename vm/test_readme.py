from readme import PAGE, with_attacks


def test_the_page_says_what_was_measured():
    text = PAGE.read_text()
    assert text == with_attacks(text), "python3 vm/readme.py"
