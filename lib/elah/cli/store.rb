# frozen_string_literal: true

require_relative "../../elah"

module Elah
  module CLI
    # Owns `elah store check`: it looks for damage in the files of stores, whether their server runs or not.
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
          raise OptionError, "There is no action #{action}. The action is check." unless action == "check"

          Elah.config = arguments.config
          damaged = (dirs.empty? ? known : dirs).reject { |dir| sound?(dir, out) }
          raise Error, "Damaged: #{damaged.join(', ')}. docs/store.md says what to do." if damaged.any?
        end

        private

        def known
          files = Dir[File.join(Elah.config.data, "**", "data.mdb")]
          raise Error, "There is no store in #{Elah.config.data}: --data names the folder of the app's data." if files.empty?

          files.map { |file| File.dirname(file) }.sort
        end

        def sound?(dir, out)
          checked = Elah::Store.check(dir)
          out.puts "#{dir}: sound, #{checked[:entries]} entries in #{checked[:pages]} pages"
          true
        rescue Elah::Store::Damaged => e
          out.puts "#{dir}: #{e.message}"
          false
        end
      end
    end
  end
end
