@rem Scripts of package.json begin with exec, so that signals reach the program and not the shell before it.
@rem That is a word of POSIX shells; the shell of Windows finds this file.
@%*
