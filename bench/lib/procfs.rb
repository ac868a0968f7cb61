# frozen_string_literal: true

# Reads the CPU time and the memory of a process and all its descendants from /proc.
module Bench
  # A process tree by the pid of its root: a supervisor and its workers, or one plain process.
  class ProcessTree
    TICKS_PER_SECOND = `getconf CLK_TCK`.to_i

    # The files of the embedded store and of a sink's journal: their mapped pages are shared, and the kernel may drop them at any time.
    STORE_FILE = %r{\.(mdb|journal)\b|/journal-\d+/}

    # Figures of smaps_rollup (proc(5)). Anonymous pages are what this project calls private memory: pages of files, be they a mapped store or a
    # library's code, may be dropped by the kernel at any time.
    FIGURES = { resident_bytes: "Rss", proportional_bytes: "Pss", anonymous_bytes: "Pss_Anon" }.freeze
    private_constant :FIGURES

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
    # @return [Hash{Symbol=>Integer}] bytes: proportional (PSS), and the part of it that is no page of a file
    def memory
      pids.each_with_object({ proportional_bytes: 0, anonymous_bytes: 0 }) do |pid, sums|
        figures = self.class.figures(pid)
        sums.each_key { |name| sums[name] += figures[name] }
      rescue Errno::ENOENT, Errno::ESRCH
        next
      end
    end

    # The process that does the work: the one with the most CPU time.
    # @return [Integer] its pid
    def busiest_pid
      pids.max_by { |pid| stat_fields("/proc/#{pid}/stat")&.fetch(:ticks) || 0 }
    end

    # @return [Hash{Symbol=>Integer}] bytes of `pid`: all that are resident, those of the mapped store, and those that are no page of a file
    def self.memory(pid)
      rollup = figures(pid)
      { resident_bytes: rollup[:resident_bytes], store_bytes: store_bytes(pid), private_bytes: rollup[:anonymous_bytes] }
    end

    # @return [Hash{Symbol=>Integer}] resident, proportional and anonymous bytes of `pid`; of what it shares the last two have its part
    # @raise [Errno::ENOENT, Errno::ESRCH] when it has ended
    def self.figures(pid)
      text = File.read("/proc/#{pid}/smaps_rollup")
      FIGURES.transform_values { |name| text[/^#{name}:\s+(\d+)/, 1].to_i * 1024 }
    end

    # @return [Integer] resident bytes of the mapped store in `pid`
    def self.store_bytes(pid)
      is_store = false
      File.foreach("/proc/#{pid}/smaps").sum do |line|
        is_store = line.match?(STORE_FILE) if line.match?(/\A\h+-\h+ /)
        is_store && line.start_with?("Rss:") ? line.split[1].to_i * 1024 : 0
      end
    end
    private_class_method :store_bytes

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
