# frozen_string_literal: true

require_relative "low_descriptor_limit"

# Loaded into a server under test: the system lets nobody change the limit of file descriptors, as some sandboxes do.
Process.singleton_class.prepend(Module.new { def setrlimit(*) = raise(Errno::EPERM, "setrlimit") })
