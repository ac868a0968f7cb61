# frozen_string_literal: true

require_relative ".."

module Elah
  module CLI
    # The command `elah sink ACTION`: reads and changes the folders of sinks, whether their server runs or not.
    module Sink
      ACTIONS = %w[status dead show replay discard salvage].freeze
      ALL = "--all"
      private_constant :ALL

      class << self
        # @param argv [Array<String>]
        # @param out [IO]
        # @raise [Elah::Error]
        def run(argv, out:)
          all = argv.include?(ALL)
          arguments = Arguments.new(argv - [ALL], files_max: Float::INFINITY)
          action, name, *ids = arguments.words
          return Help.run(["sink"], out: out) if arguments.help? || action.nil?

          Elah.config = arguments.config
          ACTIONS.include?(action) or raise OptionError, "Unknown action #{action}.#{Options.did_you_mean(action, ACTIONS)} " \
                                                         "Actions: #{ACTIONS.join(', ')}."
          return status(name, out) if action == "status"

          name or raise OptionError, "elah sink #{action} needs the name of a sink: `elah sink status` lists them."
          raise OptionError, "elah sink #{action} takes IDs of dead letters or #{ALL}, not both." if all && ids.any?

          send(action, sink(name), ids.map { |id| checked(id) }, all, out)
        end

        private

        # One that cannot be read hides none of the others.
        def status(name, out)
          raise Error, "No sink in #{parent}: set --data to the data folder of the app." if known.empty?

          out.puts row("sink", %w[accepted delivered queued dead])
          unread = (name ? [name] : known).reject { |each| account(sink(each), out) }
          raise Error, "#{count(unread.size, 'sink')} cannot be read: #{unread.join(', ')}." if unread.any?
        end

        # @return [Boolean] whether it can be read
        def account(sink, out)
          account = Elah::Sink::Account.of(sink.folder, sink.ledger)
          out.puts "#{row(sink.name, account.total)}#{remark(sink.name, account)}"
          true
        rescue Error => e
          out.puts "#{sink.name.ljust(24)} #{Text.printable(e.message)}"
          false
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
          raise OptionError, "elah sink show needs IDs of dead letters: `elah sink dead #{sink.name}` lists them." if ids.empty?

          ids.each { |id| out.puts letter(sink, id).bytes }
        end

        def letter(sink, id)
          sink.ledger.dead_letter(Elah::Sink::Id.raw(id)) or
            raise OptionError, "#{sink.name} has no dead letter #{id}: `elah sink dead #{sink.name}` lists them."
        end

        # All of them, before anything is done with one.
        def check_dead(sink, ids) = ids.each { |id| letter(sink, id) }

        def replay(sink, ids, _all, out)
          check_dead(sink, ids)
          letters = ids.empty? ? each_letter(sink) : ids.lazy.map { |id| letter(sink, id) }
          sink = with_room(sink, letters.map { |letter| letter.bytes.bytesize })
          replayed = sink.replay(ids.empty? ? nil : ids)
          out.puts "Put #{count(replayed, 'event')} into the journal again."
        ensure
          sink.close
        end

        def salvage(sink, _ids, _all, out)
          files = Dir.glob("journal-*/*.{segment,damaged}", base: sink.folder).map { |path| File.join(sink.folder, path) }
          sink = with_room(sink, files.map { |file| File.size?(file).to_i })
          outcome = sink.salvage
          outcome.findings.each do |finding|
            next out.puts "#{finding.path}: skipped: #{finding.reason}" if finding.reason

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
          raise OptionError, "elah sink discard needs IDs of dead letters, or #{ALL}: `elah sink dead #{sink.name}` lists them." if ids.empty? && !all

          check_dead(sink, ids)
          out.puts "Discarded #{count(sink.discard(all ? nil : ids), 'dead letter')}."
        end

        def each_letter(sink)
          return enum_for(:each_letter, sink) unless block_given?

          last = nil
          while (page = sink.dead_letters(after: last)).any?
            page.each { |letter| yield letter }
            last = page.last.id
          end
        end

        def parent = File.join(Elah.config.data, "sinks")

        # Opens a sink without delivery.
        def sink(name, **bounds)
          folder = File.join(parent, name)
          File.directory?(folder) or raise OptionError, "No sink #{name} in #{parent}. Sinks: #{known.empty? ? 'none' : known.join(', ')}."
          Elah::Sink.new(name, folder: folder, deliver: false, **bounds)
        end

        # The same sink, to put events of these sizes into its journal. The command does not know the bounds that the app has given it.
        def with_room(sink, sizes)
          check_user(sink)
          bytes_max, journal_bytes_max = %i[sink_event_bytes_max sink_journal_bytes_max].map { |name| Options.fetch(name, source: name).range.end }
          bytes = [Elah.config.sink_event_bytes_max, *sizes.max].max
          sink(sink.name, event_bytes_max: [bytes, bytes_max].min, journal_bytes_max: journal_bytes_max)
        end

        # The server could not open the files that root creates here.
        def check_user(sink)
          owner = File.stat(sink.folder).uid
          return if owner.zero? || !Process.euid.zero?

          raise Error, "The folder #{sink.folder} belongs to the user #{owner}, whose server could not open the files that root creates there: run " \
                       "the command as that user, for example with `sudo -u '##{owner}'`."
        end

        # Without folders of other owners, such as `lost+found`.
        def known
          names = Dir.exist?(parent) ? Dir.children(parent).select { |name| Elah::Sink::NAME.match?(name.b) } : []
          names.select { |name| File.directory?(File.join(parent, name)) }.sort
        end

        def checked(id)
          return id if id.valid_encoding? && id.match?(Elah::Sink::Id::UUID)

          raise OptionError, "Invalid event ID #{Text.printable(id)}: it must be a UUID."
        end
      end
    end
  end
end
