module kcup-vm

go 1.26
