# frozen_string_literal: true

require "fileutils"
require_relative "fingerprint"
require_relative "shell"
require_relative "stores"

module Lab
  # Stores with so much in them that each is filled once, by its contender's own bulk loader, and then serves every run: they are only read.
  # Contenders with the same loader share a store. Folders are kept for the next run of the lab, database servers until their workload is over.
  class LoadedStores
    FOLDER = File.join(WORK_FOLDER, "stores")
    FINGERPRINT_LENGTH = 12
    # Memory for a million rows and their indexes, as on a machine that is meant for them.
    SETTINGS = { "postgresql" => { "shared_buffers" => "1GB", "max_wal_size" => "4GB" } }.freeze

    # @param cores [Cores]
    # @param folder [String] of the stores that are kept
    # @yieldparam line [String] what is loaded now
    def initialize(cores, folder: FOLDER, &say)
      @cores = cores
      @folder = folder
      @say = say
      @servers = {}
    end

    # Fills the store, unless that has been done.
    # @param contender [Contender]
    # @param workload [Workload]
    # @return [Hash{Symbol=>String}] the places of a contender's command: `data`, a folder, or `store`, a URL
    # @raise [Lab::Error] when there is no loader, or it fails
    def places(contender, workload)
      loader = contender.loader(workload) or raise Error, "contenders.yml: #{contender.name} has no loader for #{workload.name}."
      name = "#{workload.name}-#{workload.rows}-#{Fingerprint.of(loader, contender.loader_sources(workload))[0, FINGERPRINT_LENGTH]}"
      workload.store ? { store: server(name, contender, workload).url } : { data: folder(name, contender, workload) }
    end

    # Ends the servers.
    def close
      @servers.each_value(&:remove)
      @servers.clear
    end

    private

    # Filled under another name, so that what was interrupted is not taken for whole.
    def folder(name, contender, workload)
      target = File.join(@folder, name)
      return near(target) if File.directory?(target)

      draft = FileUtils.mkdir_p("#{target}.#{Process.pid}").first
      fill(contender, workload, data: draft)
      File.rename(draft, target)
      near(target)
    ensure
      FileUtils.remove_entry(draft, true) if draft
    end

    # Reads the files once: the kernel may have let go of them, and who reads its whole store as it starts would not be ready in time.
    def near(target)
      files = Dir.glob("**/*", base: target).map { |file| File.join(target, file) }
      files.each { |file| IO.copy_stream(file, File::NULL) if File.file?(file) }
      target
    end

    def server(name, contender, workload)
      @servers[name] ||= begin
        server = Stores.start(workload.store, settings: SETTINGS.fetch(workload.store, {}))
        fill(contender, workload, store: server.url)
        Stores.pin(server, @cores)
        server
      rescue StandardError, Interrupt
        server&.remove
        raise
      end
    end

    def fill(contender, workload, **places)
      @say.call("#{workload.name}: #{workload.rows} rows for #{contender.title}, once")
      rows_file = Workloads::Items.file(workload.rows)
      Shell.run(*contender.loader_command(workload, rows: workload.rows, rows_file: rows_file, data: "", store: "", **places))
      Shell.run("sync") # what the kernel has yet to write would be written during a run
    end
  end
end
