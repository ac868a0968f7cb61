# frozen_string_literal: true

require "yaml"
require_relative "contender"
require_relative "workload"

module Lab
  # The contenders and the workloads that there are, read from their two files.
  class Catalogue
    # @return [Hash{String=>Contender}]
    attr_reader :contenders
    # @return [Hash{String=>Workload}]
    attr_reader :workloads

    # @param contenders [String] path of the file
    # @param workloads [String] path of the file
    # @raise [Lab::Error] when an entry is wrong
    def initialize(contenders: "lab/contenders.yml", workloads: "lab/workloads.yml")
      @workloads = read(workloads, Workload)
      @contenders = read(contenders, Contender)
    end

    # @param names [Array<String>]
    # @return [Array<Contender>] of those names, in the file's order; all without names
    # @raise [Lab::Error] naming those that there are
    def pick_contenders(names) = pick(@contenders, names, "contender")

    # @return [Array<Workload>]
    def pick_workloads(names) = pick(@workloads, names, "workload")

    # @return [Array(Contender, Workload), nil] against what a generator shows how much it can do
    def ceiling = [@contenders["bare_hyper"], @workloads["hello"]].then { |both| both if both.all? }

    private

    def read(path, kind)
      YAML.safe_load(File.read(path), aliases: true).to_h { |name, entry| [name, kind.new(name, entry)] }
    rescue Psych::SyntaxError => e
      raise Error, "#{path}: #{e.message}."
    end

    def pick(all, names, what)
      unknown = names - all.keys
      raise Error, "There is no #{what} #{unknown.first}; there are #{all.keys.join(', ')}." if unknown.any?

      names.empty? ? all.values : all.values_at(*(all.keys & names))
    end
  end
end
