# frozen_string_literal: true

module Elah
  class Scheduler
    # A command in backticks, in a fiber of the loop. Ruby waits for the process only when it has read the whole output, so a fiber that is cancelled
    # while it reads would leave a zombie. Here a thread then reads on and waits in its place.
    module Backticks
      # Reads and drops the output of a command that nobody waits for, so that the command goes on, and waits for its process.
      #
      # @return [Thread]
      def self.finish(reader, process_id)
        Thread.new do
          IO.copy_stream(reader, IO::NULL)
          reader.close
          Process.wait(process_id)
        end
      end

      private

      # @param command [String]
      # @return [String] the output of the command
      # @raise [SystemCallError] when it cannot be run
      def `(command)
        return super unless Fiber.current_scheduler.is_a?(Scheduler)

        reader, writer = IO.pipe
        process_id = Process.spawn(command, out: writer)
        writer.close
        output = reader.read
        Process.wait(process_id)
        output
      ensure
        writer&.close
        process_id && !output ? Backticks.finish(reader, process_id) : reader&.close
      end

      ::Kernel.prepend(self)
    end
  end
end
