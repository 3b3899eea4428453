# Completion of netcalc in fish.
function __netcalc_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (env _NETCALC_COMPLETE=1 $words "$current" 2>/dev/null)
        if test "$line" = :files
            set -l start (string match -r '^.*=' -- "$current")
            for file in (__fish_complete_path (string replace -r '^.*=' '' -- "$current"))
                echo -- "$start$file"
            end
        else
            echo -- "$line"
        end
    end
end
complete -c netcalc -f -a '(__netcalc_complete)'
