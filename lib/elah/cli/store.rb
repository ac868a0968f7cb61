# frozen_string_literal: true

require_relative ".."

module Elah
  module CLI
    # The command `elah store ACTION`: backs up, restores, checks, measures and compacts the stores of a data folder.
    module Store
      ACTIONS = %w[backup restore check stats compact].freeze
      STREAM = "-"
      private_constant :STREAM

      class << self
        # @param argv [Array<String>]
        # @param out [IO]
        # @raise [Elah::Error]
        def run(argv, out:)
          is_json = argv.include?("--json")
          arguments = Arguments.new(argv - ["--json"], files_max: Float::INFINITY)
          action, *paths = arguments.words
          return Help.run(["store"], out: out) if arguments.help? || action.nil?

          ACTIONS.include?(action) or raise OptionError, "Unknown action #{action}.#{Options.did_you_mean(action, ACTIONS)} " \
                                                         "Actions: #{ACTIONS.join(', ')}."
          raise OptionError, "elah store #{action} has no flag --json." if is_json && action != "stats"

          Elah.config = arguments.config
          action == "stats" ? stats(paths, is_json, out) : send(action, paths, out)
        end

        private

        def data = Elah.config.data

        def backup(paths, out)
          to = only(paths, "elah store backup", "a new folder, or - for a tar stream")
          raise OptionError, "A backup is no text for a terminal: send it to a program or a file." if to == STREAM && out.tty?

          Elah::Store.check_restored(data)
          target = to == STREAM ? Elah::Store::Backup::TarTarget.new(out) : Elah::Store::Backup::FolderTarget.new(to, data)
          report = Elah::Store::Backup.create(data, target)
          say = to == STREAM ? $stderr : out
          say.puts "Backed up #{contents(report)} to #{to == STREAM ? 'the stream' : to}."
          tell_of_cluster(say)
          return if report.left_out.empty?

          say.puts "Not in the backup, because they belong to no store and no sink: #{listed(report.left_out)}."
        end

        def tell_of_cluster(say)
          say.puts "The cluster's data is in its database, not in this folder. Back up and check the database separately." if Elah.config.cluster
        end

        def restore(paths, out)
          from = only(paths, "elah store restore", "a folder or a tar file, or - for a tar stream")
          report = from == STREAM ? receive($stdin, "The stream") : read(from)
          out.puts "Restored #{contents(report)} into #{data}."
        end

        def read(from)
          return Elah::Store::Backup::Restoration.run(Elah::Store::Backup::FolderSource.new(from, data), data) if File.directory?(from)

          File.open(from, "rb") { |io| receive(io, from) }
        rescue SystemCallError => e
          raise Error, "The backup #{from} cannot be read: #{e.message}."
        end

        def receive(io, name) = Elah::Store::Backup::Restoration.run(Elah::Store::Backup::TarSource.new(io, name), data)

        def only(paths, command, what)
          raise OptionError, "#{command} needs #{what}." if paths.empty?
          raise OptionError, "Only one path is allowed: remove #{paths.drop(1).join(' ')}." if paths.size > 1

          paths.first == STREAM ? STREAM : Text.path(paths.first)
        end

        def contents(report)
          counts = [count(report.stores.size, "store"), (count(report.sinks.size, "sink") if report.sinks.any?)].compact.join(" and ")
          "#{counts}, #{report.bytes} bytes"
        end

        def count(number, noun) = "#{number} #{noun}#{'s' unless number == 1}"

        def listed(paths)
          shown = paths.first(5).map { |path| Text.printable(path) }.join(", ")
          paths.size > 5 ? "#{shown} and #{paths.size - 5} more" : shown
        end

        def check(dirs, out)
          Elah::Store.check_restored(data)
          refused = folders(dirs).reject { |dir| sound?(dir, out) }
          tell_of_cluster(out)
          raise Error, "Damaged or not opened: #{refused.join(', ')}. Restore a copy of a damaged folder; see docs/store.md." if refused.any?
        end

        def sound?(dir, out)
          checked = Elah::Store.check(dir)
          out.puts "#{dir}: no damage, #{checked[:entries]} entries in #{checked[:pages]} pages"
          true
        rescue Elah::Store::CannotOpen => e # Damaged too
          out.puts "#{dir}: #{e.message}"
          false
        end

        def compact(dirs, out)
          folders(dirs).each do |dir|
            before, after = Elah::Store.compact(dir)
            out.puts "#{dir}: #{before} bytes before, #{after} after"
          rescue Elah::Store::InUse => e
            users = FolderUsers.of(dir)
            raise Error, users.empty? ? e.message : "#{e.message} It is in use by #{users.join(', ')}."
          end
        end

        def stats(dirs, is_json, out)
          found = folders(dirs).to_h { |dir| [dir, Elah::Store.stats(dir).merge(used_by: FolderUsers.of(dir), sink: sink(dir))] }
          return out.puts(JSON.generate(found.map { |dir, stats| { folder: dir }.merge(stats).compact })) if is_json

          found.each { |dir, stats| print_stats(dir, stats, out) }
        end

        # The sink whose ledger the store is.
        def sink(dir)
          return unless Elah::Store::Backup::Contents.ledger?(dir)

          parent = File.dirname(dir)
          segments = Dir.glob("journal-*/*.segment", base: parent).map { |path| File.join(parent, path) }
          { name: File.basename(parent), journal_files: segments.size, journal_bytes: segments.sum { |path| File.size?(path).to_i } }
        end

        def print_stats(dir, stats, out)
          out.puts "#{dir}: #{stats[:bytes]} bytes, format #{stats[:format]}#{" of Elah #{stats[:version]}" unless stats[:version].empty?}"
          out.puts "  #{stats[:pages]} pages in use, #{stats[:free_pages]} free, #{stats[:entries]} entries"
          out.puts "  up to #{stats[:readers]} readers at once, #{count(stats[:journals], 'counter journal')}"
          print_sizes("table", stats[:tables], out)
          print_sizes("counter", stats[:counters], out)
          print_sink(stats[:sink], out) if stats[:sink]
          out.puts "  in use by #{stats[:used_by].join(', ')}" if stats[:used_by].any?
        end

        def print_sizes(kind, sizes, out)
          sizes.each { |name, size| out.puts "  #{kind} #{Text.printable(name)}: #{size[:entries]} entries, #{size[:bytes]} bytes" }
        end

        def print_sink(sink, out)
          out.puts "  ledger of the sink #{sink[:name]}: #{count(sink[:journal_files], 'journal file')}, #{sink[:journal_bytes]} bytes"
        end

        # @return [Array<String>] these, or those of all stores in the data folder
        def folders(dirs)
          return dirs if dirs.any?

          found = Elah::Store::Backup::Contents.stores(data)
          raise Error, "No store in #{data}: set --data to the data folder of the app." if found.empty?

          found.map { |store| store == "." ? data : File.join(data, store) }
        end
      end
    end
  end
end
