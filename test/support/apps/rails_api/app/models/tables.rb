# frozen_string_literal: true

# The tables of the app, as a migration would make them.
module Tables
  def self.create
    Widget.connection.instance_eval do
      create_table(:widgets, force: true) { |table| table.string :name, index: true }
      create_table(:active_storage_attachments, force: true) do |table|
        table.string :name, null: false
        table.references :record, null: false, polymorphic: true, index: false
        table.references :blob, null: false
        table.datetime :created_at
      end
      create_table(:active_storage_blobs, force: true) do |table|
        table.string :key, null: false
        table.string :filename, :service_name, null: false
        table.string :content_type, :checksum
        table.text :metadata
        table.bigint :byte_size, null: false
        table.datetime :created_at
      end
    end
  end
end
