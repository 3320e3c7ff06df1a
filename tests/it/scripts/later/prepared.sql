a execute g dt:2024-01-02T03:04:05 0
a execute r dt:2024-01-02T03:04:05
