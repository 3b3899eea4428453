# Completion of netcalc in bash.
_netcalc_completion() {
    local line=${COMP_LINE:0:COMP_POINT} word value prefix= files=
    local -a words
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    word=${words[${#words[@]} - 1]}
    # readline replaces only what is behind the last = or :
    [[ $word == *[=:]* ]] && prefix=${word%"${word##*[=:]}"}
    COMPREPLY=()
    while IFS= read -r value; do
        value=${value%%$'\t'*}
        if [[ $value == :files ]]; then
            files=1
        else
            COMPREPLY+=("${value#"$prefix"}")
        fi
    done < <(_NETCALC_COMPLETE=1 "$1" "${words[@]:1}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    if [[ $files ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r value; do
            COMPREPLY+=("$value")
        done < <(compgen -f -- "${word#"$prefix"}")
    fi
}
complete -F _netcalc_completion netcalc
