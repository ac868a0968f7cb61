# frozen_string_literal: true

require "etc"

module Elah
  # The number of CPUs available to this process, affinity and cgroup quotas included.
  module Cpus
    # @param proc_cgroup [String] the file that names the groups of this process
    # @param groups [String] where version 2 of the control groups is mounted
    # @return [Integer] 1 or more
    def self.count(available: Etc.nprocessors, proc_cgroup: "/proc/self/cgroup", groups: "/sys/fs/cgroup")
      quotas = folders(proc_cgroup, groups).filter_map { |folder| quota(folder) }
      [available, *quotas].min.ceil.clamp(1, available)
    end

    # The cgroup of this process and its parents; each may have a quota.
    def self.folders(proc_cgroup, groups)
      path = File.read(proc_cgroup)[%r{^0::(/.*)$}, 1] or return []
      parts = path.split("/").reject(&:empty?)
      (0..parts.size).map { |depth| File.join(groups, *parts.first(depth)) }
    rescue SystemCallError
      []
    end

    # @return [Float, nil] CPUs; nil when the group has no quota
    def self.quota(folder)
      quota, period = File.read(File.join(folder, "cpu.max")).split.map { |word| Float(word, exception: false) }
      quota / period if quota && period
    rescue SystemCallError
      nil
    end
    private_class_method :folders, :quota
  end
end
