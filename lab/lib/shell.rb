# frozen_string_literal: true

require "open3"

module Lab
  # Runs a command to its end and keeps what it said for the case that it fails.
  module Shell
    # What a command's failure shows of its output.
    LINES_MAX = 15

    module_function

    # @param command [Array<String>]
    # @return [String] its output, standard error included
    # @raise [Lab::Error] with the end of its output, when it fails or is not there
    def run(*command, env: {}, chdir: ".")
      output, status = capture(env, command, chdir)
      return output if status.success?

      raise Error, "`#{command.join(' ')}` failed (#{status.exitstatus || "signal #{status.termsig}"}):\n#{output.lines.last(LINES_MAX).join}"
    rescue Errno::ENOENT
      raise Error, "`#{command.first}` is not installed."
    end

    # In a group of its own, so that an interrupt of the lab ends what the command started too.
    def capture(env, command, chdir)
      Open3.popen2e(env, *command, chdir: chdir, pgroup: true) do |input, output, process|
        input.close
        [output.read, process.value]
      ensure
        end_group(process)
      end
    end

    def end_group(process)
      Process.kill("TERM", -process.pid) if process.alive?
    rescue Errno::ESRCH
      nil # it has ended meanwhile
    end
  end
end
