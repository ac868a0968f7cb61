# frozen_string_literal: true

require "etc"
require "time"

module Bench
  # What the figures were taken on.
  module Machine
    module_function

    # @return [Hash{Symbol=>String}] date, machine and versions
    def facts
      {
        date: Time.now.utc.iso8601,
        commit: first_line("git", "describe", "--always", "--dirty"),
        cpu: "#{Etc.nprocessors} × #{File.read("/proc/cpuinfo")[/^model name\s*: (.*)$/, 1]}",
        memory: "#{File.read("/proc/meminfo")[/^MemTotal:\s+(\d+)/, 1].to_i / 1024 / 1024 + 1} GB",
        system: "#{File.read("/etc/os-release")[/^PRETTY_NAME="(.*)"/, 1]}, Linux #{Etc.uname[:release][/\A\d+\.\d+/]}",
        ruby: RUBY_DESCRIPTION,
        rust: first_line("rustc", "--version"),
        hyper: locked_version("hyper"),
        tokio: locked_version("tokio"),
        wrk: first_line("wrk", "-v")[/\S+ \S+/]
      }
    end

    def locked_version(crate)
      File.read("Cargo.lock")[/name = "#{crate}"\nversion = "(.*)"/, 1]
    end

    # Empty where there is no such command, as on a machine without git.
    def first_line(*command)
      IO.popen(command, err: %i[child out], &:read).lines.first.to_s.strip
    rescue Errno::ENOENT
      ""
    end
  end
end
