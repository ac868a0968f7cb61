# frozen_string_literal: true

require "fileutils"

module Lab
  module Workloads
    # The file of items that the contenders' bulk loaders read: a document in a line, the same texts and the same lengths as apps/items/load makes
    # for Elah.
    module Items
      FOLDER = File.join(WORK_FOLDER, "items")
      MAKE = %w[apps/items/load --print --rows].freeze

      # @param rows [Integer]
      # @return [String] path of the file, which is made at its first use
      def self.file(rows)
        target = File.join(FileUtils.mkdir_p(FOLDER).first, "#{rows}.ndjson")
        return target if File.exist?(target)

        draft = "#{target}.#{Process.pid}"
        system(*MAKE, rows.to_s, out: draft) or raise Error, "`#{MAKE.join(' ')} #{rows}` failed."
        File.rename(draft, target)
        target
      ensure
        FileUtils.rm_f(draft) if draft
      end
    end
  end
end
