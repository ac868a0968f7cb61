# frozen_string_literal: true

# Reads the CPU time and the memory of a process and all its descendants from /proc.
module Bench
  # A process tree by the pid of its root: a supervisor and its workers, or one plain process.
  class ProcessTree
    TICKS_PER_SECOND = `getconf CLK_TCK`.to_i

    # The files of the embedded store and of a sink's journal: their mapped pages are shared, and the kernel may drop them at any time.
    STORE_FILE = %r{\.(mdb|journal)\b|/journal-\d+/}

    # @param root [Boolean] whether the root itself counts
    def initialize(root_pid, root: true)
      @root_pid = root_pid
      @first = root ? 0 : 1
    end

    # @return [Array<Integer>] the root's pid and those of its descendants
    def pids
      children = Hash.new { |hash, pid| hash[pid] = [] }
      Dir.glob("/proc/[0-9]*/stat") do |file|
        stat = stat_fields(file)
        children[stat[:ppid]] << stat[:pid] if stat
      end
      found = [@root_pid]
      found.each { |pid| found.concat(children[pid]) if children.key?(pid) }
      found.drop(@first)
    end

    # @return [Float] user and system time of all threads of all processes, in seconds
    def cpu_seconds
      pids.sum { |pid| stat_fields("/proc/#{pid}/stat")&.fetch(:ticks) || 0 } / TICKS_PER_SECOND.to_f
    end

    # Memory of the whole tree: what is shared among its processes counts once, what is shared with others in part.
    # @return [Hash{Symbol=>Integer}] bytes: proportional (PSS), the part of it that is no page of a file, and private to single processes
    def memory
      pids.each_with_object({ proportional_bytes: 0, anonymous_bytes: 0, private_bytes: 0 }) do |pid, sums|
        text = File.read("/proc/#{pid}/smaps_rollup")
        sums[:proportional_bytes] += text[/^Pss:\s+(\d+)/, 1].to_i * 1024
        sums[:anonymous_bytes] += text[/^Pss_Anon:\s+(\d+)/, 1].to_i * 1024
        sums[:private_bytes] += text.scan(/^Private_(?:Clean|Dirty):\s+(\d+)/).flatten.sum(&:to_i) * 1024
      rescue Errno::ENOENT, Errno::ESRCH
        next
      end
    end

    # The process that does the work: the one with the most CPU time.
    # @return [Integer] its pid
    def busiest_pid
      pids.max_by { |pid| stat_fields("/proc/#{pid}/stat")&.fetch(:ticks) || 0 }
    end

    # @return [Hash{Symbol=>Integer}] resident bytes of `pid`: all of them, those of the mapped store, and the rest,
    #   which is what this project calls private memory
    def self.memory(pid)
      total = store = 0
      is_store = false
      File.foreach("/proc/#{pid}/smaps") do |line|
        if line.start_with?("Rss:")
          bytes = line.split[1].to_i * 1024
          total += bytes
          store += bytes if is_store
        elsif line.match?(/\A\h+-\h+ /)
          is_store = line.match?(STORE_FILE)
        end
      end
      { resident_bytes: total, store_bytes: store, private_bytes: total - store }
    end

    # @return [Integer] the most bytes that `pid` ever had resident; the kernel keeps the count
    def self.peak_resident_bytes(pid)
      File.read("/proc/#{pid}/status")[/^VmHWM:\s+(\d+) kB/, 1].to_i * 1024
    end

    private

    # The fields of a stat file that are used here, or nil when the process has just ended.
    def stat_fields(file)
      text = File.read(file)
      # The name in brackets may hold spaces, so the fields are counted from its end.
      fields = text[(text.rindex(")") + 2)..].split
      { pid: text.to_i, ppid: fields[1].to_i, ticks: fields[11].to_i + fields[12].to_i }
    rescue Errno::ENOENT, Errno::ESRCH
      nil
    end
  end
end
