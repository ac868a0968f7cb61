# frozen_string_literal: true

# The records of the Grape and the Sinatra app. DATABASE_URL says where they are.
require "active_record"

ActiveRecord::Base.logger = nil
ActiveRecord::Base.establish_connection(ENV.fetch("DATABASE_URL"))

class Widget < ActiveRecord::Base
  def self.wait(seconds)
    sql = connection.adapter_name == "Mysql2" ? "SELECT SLEEP(#{seconds})" : "SELECT 1 FROM pg_sleep(#{seconds})"
    connection.select_value(sql)
  end

  # Creates two widgets or none.
  def self.create_pair(name, fail:)
    transaction do
      create!(name: name)
      wait(0.05)
      raise ActiveRecord::Rollback if fail

      create!(name: name)
    end
    connection.open_transactions
  end
end

Widget.connection.create_table(:widgets, force: true) { |table| table.string :name } if ENV["CREATE_TABLES"]
