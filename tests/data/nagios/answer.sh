#!/bin/sh
# EXIT_CODE ADDRESS: check a host; for one in the file "dead" beside this one wait, and end with the code
grep -qxF "$2" "$(dirname "$0")/dead" || { echo fine; exit 0; }
sleep 0.5
echo no answer
exit "$1"
