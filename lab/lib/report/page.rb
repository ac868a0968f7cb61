# frozen_string_literal: true

require "erb"
require_relative "plots"

module Lab
  class Report
    # Owns what the template asks for. Everything that came from outside goes through `h`.
    class Page
      TEMPLATE = File.expand_path("page.html.erb", __dir__)
      STYLE = File.expand_path("page.css", __dir__)
      GENERATOR_CHECK = "lab/generator_check.json"

      # @param summary [Summary]
      # @param record [Record]
      # @param generator_check [String] the file that lab/check_generators writes
      def initialize(summary, record, generator_check: GENERATOR_CHECK)
        @summary = summary
        @record = record
        @generator_check = generator_check
      end

      # @return [String] HTML
      def to_s = ERB.new(File.read(TEMPLATE, encoding: Encoding::UTF_8), trim_mode: "-").result(binding)

      private

      def h(text) = SVG.escape(text)
      def about = @summary.about
      def style = File.read(STYLE, encoding: Encoding::UTF_8)
      def workloads = @summary.workloads
      def plots(workload) = Plots.new(workload, @summary.soaks.select { |soak| soak[:workload] == workload[:name] })

      def generator_check
        JSON.parse(File.read(@generator_check, encoding: Encoding::UTF_8), symbolize_names: true) if File.exist?(@generator_check)
      end

      def losses_by_workload = @summary.losses.group_by { |loss| loss[:workload] }
      def seconds(text) = Time.iso8601(text).strftime("%F %H:%M UTC")

      # Figures a reader in a hurry takes along: per workload, what Elah did, and beside whom.
      def highlights
        workloads.filter_map do |workload|
          ours = workload[:rows].find { |row| row[:contender] == Summary::SUBJECT && row[:rate] } or next
          { name: workload[:name], title: workload[:title], rate: Format.measured(ours[:rate][:median]), lines: comparisons(workload, ours) }
        end
      end

      def comparisons(workload, ours)
        others = workload[:rows].select { |row| row[:rate] && !row[:contender].start_with?(Summary::SUBJECT, Summary::YARDSTICK) }
        ruby, rest = others.partition { |row| row[:kind] == "Ruby" }.map { |rows| rows.max_by { |row| row[:rate][:median] } }
        lines = [["bare hyper", ours[:of_yardstick]]]
        [ruby, rest].compact.each { |row| lines << [row[:title], ours[:rate][:median] / row[:rate][:median]] }
        lines.select(&:last).map { |name, factor| "#{Format.measured(factor)} × #{name}" }
      end

      def figure(loss, key)
        case loss[:measure]
        when :rate then Format.measured(loss[key])
        when :memory_bytes then "#{Format.megabytes(loss[key])} MB"
        when :p99_us then "#{Format.milliseconds(loss[key])} ms"
        else "#{Format.measured(loss[key])} µs"
        end
      end

      def failures = workloads.flat_map { |workload| workload[:rows].filter_map { |row| [workload[:name], row] if row[:failure] } }
      def runs = @record.runs.reject { |run| run[:soak] || run[:ceiling] }
    end

    # @param row [Hash] of a Summary
    # @return [String] the class of the style sheet that colours it
    def self.kind(row)
      return "ours" if row[:contender].start_with?(Summary::SUBJECT)

      "kind-#{row[:kind].to_s.downcase.gsub(/\W+/, '-')}"
    end
  end
end
