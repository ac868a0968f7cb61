# frozen_string_literal: true

require "test_helper"
require "tmpdir"

class StoreChoiceTest < Minitest::Test
  Place = Struct.new(:store)

  # The classes of the two files below.
  module Stores; end

  def test_the_chosen_file_alone_is_loaded_and_its_class_opens_itself
    with_stores do |choice|
      assert_equal "rows of sql://host/name", choice.open(Place.new("sql://host/name"))
      assert_equal [:SQL], Stores.constants
    end
  end

  def test_a_store_that_there_is_not_names_those_that_there_are
    with_stores do |choice|
      error = assert_raises(Elah::OptionError) { choice.open(Place.new("oracle://host")) }
      assert_equal "store must be embedded or a URL that begins with sql://, not oracle.", error.message
    end
  end

  private

  def with_stores
    Dir.mktmpdir do |folder|
      File.write("#{folder}/sql.rb", "class #{Stores}::SQL; def self.open(config) = \"rows of \#{config.store}\"; end")
      File.write("#{folder}/embedded.rb", "raise 'nobody asked for it'")
      yield Elah::StoreChoice.new(Stores, folder, { "embedded" => :Embedded, "sql" => :SQL })
    end
  end
end
