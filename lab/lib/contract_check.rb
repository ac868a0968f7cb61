# frozen_string_literal: true

require_relative "../../test/conformance/contract"

module Lab
  # Plays a workload's contract against a server: the cases that the workload measures must pass, and of all others it is said how many do.
  class ContractCheck
    # passed, total: cases of the whole contract · failures: Hash of case and what was wrong, of those that the workload measures
    Result = Struct.new(:passed, :total, :failures) do
      def ok? = failures.empty?
    end

    # @param workload [Workload]
    # @raise [Lab::Error] when the workload names a case that its contract lacks
    def initialize(workload)
      @contract = Conformance::Contract.new(workload.contract)
      @needed = workload.cases
      unknown = @needed - @contract.cases.map(&:name)
      raise Error, "workloads.yml: #{workload.name} names the case #{unknown.first.inspect}, which #{workload.contract} lacks." if unknown.any?
    end

    # @param url [String] of the server
    # @param whole [Boolean] whether to play all cases
    # @return [Result]
    def play(url, whole: true)
      cases = @contract.cases.select { |one| whole || @needed.include?(one.name) }
      failures = cases.to_h { |one| [one.name, failure(url, one)] }.compact
      Result.new(cases.size - failures.size, cases.size, failures.slice(*@needed))
    end

    private

    # What a server does to the connection is a failure of the case too.
    def failure(url, one)
      Conformance::Player.new(url).play(one.steps)
    rescue SystemCallError, IOError, Timeout::Error, Net::ProtocolError, Net::HTTPBadResponse => e
      "#{e.class}: #{e.message}"
    end
  end
end
