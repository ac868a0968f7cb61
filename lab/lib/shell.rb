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
      output, status = Open3.capture2e(env, *command, stdin_data: "", chdir: chdir)
      return output if status.success?

      raise Error, "`#{command.join(' ')}` failed (#{status.exitstatus || "signal #{status.termsig}"}):\n#{output.lines.last(LINES_MAX).join}"
    rescue Errno::ENOENT
      raise Error, "`#{command.first}` is not installed."
    end
  end
end
