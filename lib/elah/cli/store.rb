# frozen_string_literal: true

require_relative ".."

module Elah
  module CLI
    # The command `elah store check`: checks the files of stores for damage, whether their server runs or not.
    module Store
      class << self
        # @param argv [Array<String>]
        # @param out [IO]
        # @raise [Elah::Error]
        def run(argv, out:)
          words = argv.take_while { |word| !word.start_with?("-") }
          arguments = Arguments.new(argv.drop(words.size))
          return Help.run(["store"], out: out) if arguments.help? || words.empty?

          action, *dirs = words
          raise OptionError, "Unknown action #{action}. Use elah store check." unless action == "check"

          Elah.config = arguments.config
          damaged = (dirs.empty? ? known : dirs).reject { |dir| sound?(dir, out) }
          raise Error, "Damaged: #{damaged.join(', ')}. Restore a copy of the folder; see docs/store.md." if damaged.any?
        end

        private

        def known
          files = Dir[File.join(Elah.config.data, "**", "data.mdb")]
          raise Error, "No store in #{Elah.config.data}: set --data to the data folder of the app." if files.empty?

          files.map { |file| File.dirname(file) }.sort
        end

        def sound?(dir, out)
          checked = Elah::Store.check(dir)
          out.puts "#{dir}: no damage, #{checked[:entries]} entries in #{checked[:pages]} pages"
          true
        rescue Elah::Store::Damaged => e
          out.puts "#{dir}: #{e.message}"
          false
        end
      end
    end
  end
end
