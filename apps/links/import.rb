# frozen_string_literal: true

require_relative "../line_reader"
require_relative "import_report"
require_relative "order"

module Links
  # The import of many links: a JSON object per line, a result per line in the same order, a commit per batch. An invalid line is
  # reported and does not affect others.
  class Import
    # This many lines occupy the loop for a few milliseconds.
    BATCH = 100
    LINE_BYTES_MAX = 65_536

    # @param service [Service]
    # @param own [Array<Targets::Authority>] where no target may lead
    # @param presenter [Presenter]
    # @param reuse [Boolean] whether existing links with the same redirect may be reused
    # @param report [ImportReport] receives the results
    def initialize(service, own:, presenter:, reuse:, report:)
      @service = service
      @own = own
      @presenter = presenter
      @reuse = reuse
      @report = report
    end

    # @param lines [#each] Strings or LineReader::TOO_LONG
    def run(lines)
      batch = []
      lines.each do |line|
        next @report.skip if line == ""

        batch << read(line)
        run_batch(batch.slice!(0..)) if batch.size == BATCH
      end
      run_batch(batch)
      @report
    end

    private

    # @return [Order, Array] an order, or the status, code and detail of an error
    def read(line)
      return [413, "line_too_long", "A line has at most #{LINE_BYTES_MAX} bytes."] if line == LineReader::TOO_LONG

      given = Elah::JSON.parse(line)
      return [422, "invalid_line", "A line is a JSON object."] unless given.is_a?(Hash)

      Order.read_imported(given, own: @own, now: @service.store.now, reuse: @reuse)
    rescue Elah::JSON::ParseError => e
      [422, "invalid_line", e.message]
    rescue Invalid => e
      [422, e.code, e.message]
    end

    def run_batch(batch)
      outcomes = create(batch.grep(Order))
      batch.each do |one|
        one.is_a?(Order) ? add(outcomes.shift) : @report.add_failure(*one)
      end
    end

    # A batch that the store refuses fails as a whole.
    def create(orders)
      orders.empty? ? [] : @service.creation.run(orders)
    rescue Elah::Store::Full => e
      orders.map { [507, "store_full", e.message] }
    end

    def add(outcome)
      return @report.add_failure(*outcome) if outcome.is_a?(Array)
      return @report.add_failure(409, "code_taken", "The code #{outcome.code} belongs to another link.") if outcome.kind == :taken

      @report.add(outcome.kind, outcome.code, @presenter.short_url(outcome.code))
    end
  end
end
