# frozen_string_literal: true

# A record with an upload.
class Widget < ApplicationRecord
  SLEEP = { "Mysql2" => "SELECT SLEEP(%f)", "PostgreSQL" => "SELECT 1 FROM pg_sleep(%f)" }.freeze

  has_one_attached :picture

  def self.wait(seconds)
    statement = SLEEP[connection.adapter_name] or return sleep(seconds)
    connection.select_value(format(statement, seconds))
  end
end
