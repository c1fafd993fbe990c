module petrel

go 1.19
