# Completion of kcup. Made by share/options.py from share/options.toml.
_kcup() {
  local command='' words='' files='' each word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$command:$each" in
      ":healthcheck") command="healthcheck" ;;
      ":mta-sts") command="mta-sts" ;;
      "mta-sts:lint") command="mta-sts lint" ;;
      "mta-sts:txt") command="mta-sts txt" ;;
      "mta-sts:new") command="mta-sts new" ;;
    esac
  done
  # To bash, --option=value is three words.
  [[ $word == = ]] && word=
  [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
  case $before in
    --preset) words='mta-sts' ;;
    --status) words='200 400 401 403 404 410 421 429 451 500 501 502 503 504' ;;
    --compression) words='auto off' ;;
    --sandbox) words='auto off required' ;;
    --access-log) words='off common json' ;;
    --log-level) words='error warn info debug' ;;
    --log-format) words='text json' ;;
    --format) words='text json' ;;
    --mode) words='enforce testing none' ;;
    -f | --file | --tls-cert | --tls-key) files=yes ;;
    --text | --stdin-read-timeout-seconds | --max-content-bytes | --reload-interval-seconds | -h | --host | -p | --port | --path | --content-type | --header | --max-connections | --header-timeout-seconds | --idle-timeout-seconds | --write-timeout-seconds | --shutdown-timeout-seconds | --threads | --admin | --trusted-proxy | --domain | --mx | --max-age) ;;
    *)
      case $command in
        "") words='healthcheck mta-sts --file --text --stdin-read-timeout-seconds --max-content-bytes --reload-interval-seconds --preset --host --port --tls-cert --tls-key --path --status --content-type --header --compression --max-connections --header-timeout-seconds --idle-timeout-seconds --write-timeout-seconds --shutdown-timeout-seconds --threads --sandbox --admin --access-log --trusted-proxy --log-level --log-format --help --version' files=yes ;;
        "healthcheck") words='--host --port --tls-cert --tls-key --path --status --preset --help' ;;
        "mta-sts") words='lint txt new --help' ;;
        "mta-sts lint") words='--file --stdin-read-timeout-seconds --max-content-bytes --format --help' files=yes ;;
        "mta-sts txt") words='--file --stdin-read-timeout-seconds --max-content-bytes --domain --help' files=yes ;;
        "mta-sts new") words='--mode --mx --max-age --help' ;;
      esac ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; [[ $files && $word != -* ]] && compgen -f -- "$word")
  [[ $files ]] && compopt -o filenames
}
complete -F _kcup kcup kcup-rust kcup-go
