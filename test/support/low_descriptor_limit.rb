# frozen_string_literal: true

# Loaded into a server under test: it starts with few file descriptors, as a login shell gives them.
Process.setrlimit(:NOFILE, 256, Process.getrlimit(:NOFILE).last)
