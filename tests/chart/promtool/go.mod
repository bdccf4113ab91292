module promtool

go 1.26.8

require github.com/prometheus/prometheus v0.305.2 // indirect
