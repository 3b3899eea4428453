#compdef netcalc
# Completion of netcalc in zsh.
_netcalc() {
    local line value files=
    local -a values shown open
    for line in "${(@f)$(_NETCALC_COMPLETE=1 ${(Q)words[1]} "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        value=${line%%$'\t'*}
        case $value in
            '') ;;
            :files) files=1 ;;
            *=) open+=("$value") ;;
            *) values+=("$value"); shown+=("${line/$'\t'/  -- }") ;;
        esac
    done
    (( ${#values} )) && compadd -l -d shown -a values
    (( ${#open} )) && compadd -S '' -a open
    if [[ -n $files ]]; then
        compset -P '*='
        _files
    fi
}
if [[ $funcstack[1] == _netcalc ]]; then
    _netcalc "$@"
else
    compdef _netcalc netcalc
fi
