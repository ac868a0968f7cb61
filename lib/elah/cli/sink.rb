# frozen_string_literal: true

require_relative "../../elah"

module Elah
  module CLI
    # Owns `elah sink ACTION`: it looks into the folders of sinks, whether their server runs or not.
    module Sink
      ACTIONS = %w[status dead show replay discard salvage].freeze
      ALL = "--all"
      private_constant :ALL

      class << self
        # @param argv [Array<String>]
        # @param out [IO]
        # @raise [Elah::Error]
        def run(argv, out:)
          words = argv.take_while { |word| !word.start_with?("-") }
          flags = argv.drop(words.size)
          all = flags.delete(ALL)
          arguments = Arguments.new(flags)
          return Help.run(["sink"], out: out) if arguments.help? || words.empty?

          Elah.config = arguments.config
          action, name, *ids = words
          ACTIONS.include?(action) or raise OptionError, "There is no action #{action}.#{Options.did_you_mean(action, ACTIONS)} " \
                                                         "The actions are #{ACTIONS.join(', ')}."
          return status(name, out) if action == "status"

          name or raise OptionError, "elah sink #{action} needs the name of a sink."
          send(action, sink(name), ids.map { |id| checked(id) }, all, out)
        end

        private

        def status(name, out)
          raise Error, "There is no sink in #{parent}: --data names the folder of the app's data." if known.empty?

          out.puts row("sink", %w[accepted delivered queued dead])
          (name ? [name] : known).each do |each|
            sink = sink(each)
            account = Elah::Sink::Account.of(sink.folder, sink.ledger)
            out.puts "#{row(each, account.total)}#{remark(each, account)}"
          end
        end

        def remark(name, account)
          return if account.holds?
          return "  does not add up" if account.damaged.zero?

          "  #{account.damaged} damaged #{account.damaged == 1 ? 'file' : 'files'}: see `elah sink salvage #{name}`"
        end

        def row(label, columns) = "#{label.ljust(24)} #{columns.map { |column| column.to_s.rjust(12) }.join(' ')}"

        def dead(sink, _ids, _all, out)
          each_letter(sink) do |letter|
            out.puts "#{letter.id}  #{letter.parked_at.strftime('%Y-%m-%dT%H:%M:%SZ')}  #{Text.printable(letter.reason)}"
          end
        end

        def show(sink, ids, _all, out)
          raise OptionError, "elah sink show needs the ids of dead letters." if ids.empty?

          ids.each do |id|
            letter = sink.ledger.dead_letter(Elah::Sink::Id.raw(id)) or raise OptionError, "#{sink.name} has no dead letter #{id}."
            out.puts letter.bytes
          end
        end

        def replay(sink, ids, _all, out)
          count = sink.replay(ids.empty? ? nil : ids)
          out.puts "#{count} events are in the journal again."
        ensure
          sink.close
        end

        def salvage(sink, _ids, _all, out)
          outcome = sink.salvage
          outcome.findings.each do |finding|
            out.puts "#{finding.path}: #{count(finding.events, 'event')} read, #{finding.lost.empty? ? 'no byte' : bytes(finding.lost)} lost"
          end
          out.puts "Put #{count(outcome.findings.sum(&:events), 'event')} into the journal again."
          out.puts "Wrote off #{count(outcome.missing, 'event')} that cannot be read." unless outcome.missing.zero?
        ensure
          sink.close
        end

        def count(number, noun) = "#{number} #{noun}#{'s' unless number == 1}"

        def bytes(ranges) = "bytes #{ranges.map { |range| "#{range.begin} to #{range.end - 1}" }.join(', ')}"

        def discard(sink, ids, all, out)
          raise OptionError, "elah sink discard needs the ids of dead letters, or #{ALL}." if ids.empty? && !all

          out.puts "#{sink.discard(all ? nil : ids)} dead letters are gone."
        end

        def each_letter(sink)
          last = nil
          while (page = sink.dead_letters(after: last, limit: 1000)).any?
            page.each { |letter| yield letter }
            last = page.last.id
          end
        end

        def parent = File.join(Elah.config.data, "sinks")

        # A sink that delivers nothing here.
        def sink(name)
          folder = File.join(parent, name)
          File.directory?(folder) or raise OptionError, "There is no sink #{name} in #{parent}; it has #{known.empty? ? 'none' : known.join(', ')}."
          Elah::Sink.new(name, folder: folder, deliver: false)
        end

        def known = Dir.exist?(parent) ? Dir.children(parent).sort : []

        def checked(id)
          return id if id.valid_encoding? && id.match?(Elah::Sink::Id::UUID)

          raise OptionError, "#{Text.printable(id)} is no id of an event."
        end
      end
    end
  end
end
