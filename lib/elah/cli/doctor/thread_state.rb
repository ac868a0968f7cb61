# frozen_string_literal: true

module Elah
  module CLI
    module Doctor
      # Code that keeps state in variables of the thread, which all requests of a worker share. Read from the files that the app has loaded.
      module ThreadState
        PAGE = "docs/databases.md#state-of-a-request"
        WRITES = /\bthread_variable_set\b/

        # What they keep there belongs to the thread (the start of the reaper, the values of ThreadLocalVar), or has an adapter.
        HARMLESS = %w[activerecord concurrent-ruby fiber-local sentry-ruby sentry-ruby-core].freeze
        private_constant :PAGE, :WRITES, :HARMLESS

        class << self
          # @param paths [Array<String>] of the files that were loaded
          # @return [Array<Finding>]
          def findings(paths)
            places = paths.filter_map { |path| place(path) unless GemOrigin.ruby?(path) || GemOrigin.elah?(path) }
            by_gem = places.group_by { |path, _| GemOrigin.of(path)&.to_s }
            by_gem.reject { |name, _| HARMLESS.include?(name.to_s[/\A\S+/]) }.map { |name, found| finding(name, found) }
          end

          private

          # @return [Array(String, Integer), nil] the file and the first line that writes such a variable
          def place(path)
            line = File.foreach(path, encoding: "BINARY").with_index(1).find { |text, _| text.match?(WRITES) && !text.match?(/\A\s*#/) }
            [Text.utf8(path), line.last] if line
          rescue SystemCallError
            nil
          end

          def finding(name, places)
            first = places.first.join(":")
            message = "#{name ? "The gem #{name}" : 'The app'} keeps state in a variable of the thread, which all requests share (#{first})"
            Finding.new(level: name ? :note : :warning, check: :state, message: message, page: PAGE,
                        remedy: name ? "check that it is not the state of one request" : "use Thread.current[:name], which belongs to the request")
          end
        end
      end
    end
  end
end
