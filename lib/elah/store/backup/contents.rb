# frozen_string_literal: true

require_relative "folder"

module Elah
  class Store
    module Backup
      # The files of all stores and sinks below a data folder, held as they were at one moment.
      #
      # A ledger is taken before the stores into which its sink may deliver: an event that is settled in the ledger's copy is in the store's, too.
      # The segments of a journal are opened before its ledger is taken, because its owner deletes those that are delivered.
      class Contents
        # path:: below the data folder · bytes:: its length · reader:: a Proc that returns the bytes at an offset, with a length
        File = Struct.new(:path, :bytes, :reader)

        SEGMENT = /\.(?:segment|damaged)\z/
        # Files that a store or a sink can create again, or that a killed process has left.
        TRANSIENT = %r{(?:\A|/)(?:lock\.mdb(?:\.\d+)?|data\.mdb\.compact|counters-[^/]+\.journal(?:-draft)?|probe\.\d+|
                       (?:entities|timers)-[^/]*\.lock|new\.\d+/[^/]+|#{CHECKED_RESTORE}/backup\.json|journal-\d+/[^/]+)\z}x
        ATTEMPTS_MAX = 100
        private_constant :SEGMENT, :TRANSIENT, :ATTEMPTS_MAX

        # @param data [String] the data folder
        # @return [Array<String>] the folders of stores, relative to it
        # @raise [Failed] when the path of one is not UTF-8
        def self.stores(data)
          found = Folders.files(data).select { |path| ::File.basename(path) == "data.mdb" }.map { |path| ::File.dirname(path) }
          unnamed = found.find { |store| store.encoding != Encoding::UTF_8 && !store.ascii_only? }
          raise Failed, "The path #{Text.printable(unnamed)} is not UTF-8: rename the folder." if unnamed

          found.reject { |path| ::File.basename(path).match?(/\Anew\.\d+\z/) || path.start_with?(UNFINISHED_RESTORE, CHECKED_RESTORE) }.sort
        end

        # @param dir [String] the folder of a store
        # @return [Boolean] whether it is the ledger of a sink, whose journals are beside it
        def self.ledger?(dir) = ::File.basename(dir) == "ledger" && Dir.glob("journal-*", base: ::File.dirname(dir)).any?

        # @param data [String]
        # @yieldparam contents [Contents]
        # @return [Object] the block's value
        # @raise [Store::Error] when a store is damaged or cannot be opened
        def self.pin(data)
          contents = new(data)
          yield contents
        ensure
          contents&.close
        end

        # @return [Array<String>] the folders of stores, relative to the data folder
        attr_reader :stores

        # @return [Array<String>] the folders of sinks
        attr_reader :sinks

        # @return [Time]
        attr_reader :taken_at

        # @param data [String]
        # @api private
        def initialize(data)
          @data = data
          @open = []
          @groups = []
          @stores = self.class.stores(data)
          raise Failed, "No store in #{data}: set --data to the data folder of the app." if @stores.empty?

          refuse_aliases
          @stores.each { |store| Store.check(path(store)) } # before anything is held
          @ledgers = @stores.select { |store| self.class.ledger?(path(store)) }
          @sinks = @ledgers.map { |ledger| ::File.dirname(ledger) }
          pin_all
        rescue StandardError
          close
          raise
        end

        # Yields each file once. A store's snapshot is released after its last file.
        #
        # @yieldparam file [File]
        # @return [Enumerator, nil]
        def each_file(&block)
          return enum_for(:each_file) unless block

          @groups.each do |files, release|
            files.each(&block)
            release.each(&:close)
          end
        end

        # @return [Array<String>] files that belong to no store and no sink
        def left_out
          known = @groups.flat_map { |files, _| files.map(&:path) }.to_h { |path| [path, true] }
          Folders.files(@data).reject { |path| known[path] || path.b.match?(TRANSIENT) }.sort_by(&:b)
        end

        # @return [void]
        def close = @open.each(&:close)

        private

        # A process opens a store once.
        def refuse_aliases
          same = @stores.group_by { |store| ::File.stat(path(::File.join(store, "data.mdb"))).then { |stat| [stat.dev, stat.ino] } }
          names = same.values.find { |stores| stores.size > 1 } or return
          raise Failed, "#{names.map { |name| path(name) }.join(' and ')} are one store: remove the link, or move it out of #{@data}."
        end

        # Descriptors of all segments are held at once.
        def pin_all
          Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)
          @taken_at = Time.now.utc
          @ledgers.each { |ledger| pin_sink(::File.dirname(ledger), ledger) }
          (@stores - @ledgers).each { |store| hold(*pin_store(store)) }
        end

        def hold(files, resources)
          @open.concat(resources)
          @groups << [files, resources]
        end

        def pin_store(store)
          snapshot = Snapshot.take(path(store))
          data = File.new(join(store, "data.mdb"), snapshot.bytes, snapshot.method(:read))
          journals = snapshot.journals.map { |name, content| File.new(join(store, name), content.bytesize, content.method(:byteslice)) }
          [[data, *journals], [snapshot]]
        end

        # Until no segment was added between the two.
        def pin_sink(sink, ledger)
          ATTEMPTS_MAX.times do
            before = segments(sink)
            opened = before.filter_map { |segment| open(segment)&.then { |io| [segment, io] } }
            files, resources = pin_store(ledger)
            after = segments(sink)
            if (after - before).empty? && (after.any? || before.empty?)
              return hold(files + opened.map { |segment, io| pinned(segment, io) }, resources + opened.map(&:last))
            end

            [*resources, *opened.map(&:last)].each(&:close)
          end
          raise Failed, "The journals in #{path(sink)} changed faster than they could be opened, #{ATTEMPTS_MAX} times."
        end

        def segments(sink)
          names = Dir.children(path(sink)).map { |name| Text.of_bytes(name) }.grep(/\Ajournal-\d+\z/)
          journals = names.map { |name| join(sink, name) }
          files = journals.flat_map { |journal| Folders.files(path(journal)).map { |file| ::File.join(journal, file) } }
          files.grep(SEGMENT).sort
        end

        # nil when it was delivered and deleted just now.
        def open(segment)
          ::File.open(path(segment), "rb")
        rescue Errno::ENOENT
          nil
        end

        # Its owner may append to it.
        def pinned(segment, io)
          whole = segment.end_with?(".segment") ? SinkJournal.whole_bytes("/dev/fd/#{io.fileno}") : io.size
          reader = lambda do |offset, length|
            kept = offset < whole ? io.pread([length, whole - offset].min, offset) : "".b
            kept << ("\0" * (length - kept.bytesize))
          end
          File.new(segment, io.size, reader)
        end

        def path(relative) = ::File.join(@data, relative)

        def join(folder, name) = folder == "." ? name : ::File.join(folder, name)
      end
    end
  end
end
