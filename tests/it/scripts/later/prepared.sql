a execute g dt:2024-01-02T03:04:05 0
a execute r dt:2024-01-02T03:04:05
a execute g '$N😀' 0
[mysql] = ERR 3057/42000
[mariadb] = 1
