# frozen_string_literal: true

require_relative "../database"

module Links
  # Links in a table of SQLite, as a Ruby application would keep them in its own process.
  class Rows
    class Link < ActiveRecord::Base
      self.primary_key = :code
    end

    # One statement for the look-up and the count, which is more than most would write.
    VISIT = <<~SQL
      UPDATE links SET visits = visits + 1
      WHERE code = ? AND (max_visits IS NULL OR visits < max_visits) AND (not_before IS NULL OR not_before <= ?) AND (expires_at IS NULL OR expires_at > ?)
      RETURNING target, status, max_visits
    SQL

    def initialize(folder, threads)
      Database.open(folder, "links", threads) do
        create_table(:links, id: false) do |table|
          table.string :code, primary_key: true
          table.string :target, null: false
          table.integer :status, null: false
          table.integer :visits, null: false, default: 0
          table.integer :max_visits
          table.string :not_before
          table.string :expires_at
          table.string :title
          table.text :tags, null: false, default: "[]"
          table.string :created_at, null: false
          table.string :updated_at, null: false
        end
      end
    end

    # @return [Boolean] whether its code was free
    def insert(link)
      Database.exclusively { Link.insert!(link) }
      true
    rescue ActiveRecord::RecordNotUnique
      false
    end

    # @return [Hash, nil] target, status and max_visits of a link that redirects, which counts
    def visit(code, now) = Database.exclusively { Database.rows(VISIT, code, now, now) }.first

    # @return [Hash, nil]
    def find(code) = Link.find_by(code: code)&.attributes
    def update(code, link) = Link.where(code: code).update_all(link)

    # @return [Boolean] whether it was there
    def delete(code) = Link.where(code: code).delete_all.positive?

    # @yield what is written in one transaction
    def together(&block) = Database.write(&block)
  end
end
