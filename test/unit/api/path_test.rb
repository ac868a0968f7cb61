# frozen_string_literal: true

require "support/api_case"

# How the parts of a definition become a path.
class APIPathTest < Minitest::Test
  Path = Elah::Framework::Path

  def test_join_leaves_one_slash_between_parts
    assert_equal "/a/b", Path.join(["/a/", "b"])
    assert_equal "/", Path.join([])
    assert_equal "/", Path.join(["/", ""])
    assert_equal "/a", Path.normalize("//a/")
  end

  def test_full_has_mount_prefix_version_namespaces_and_path_in_grapes_order
    layer = Elah::Framework::Layer.new
    layer.single.merge!(prefix: "api")
    layer.stacked[:mount_path] << "/m"
    layer.stacked[:namespaces] << Elah::Framework::Namespace.new("links", {})
    assert_equal "/m/api/v1/links/:id", Path.full(":id", Elah::Framework::Settings.new([layer]), "v1")
  end

  def test_the_suffix_depends_on_the_formats
    none = Elah::Framework::Settings.new([])
    assert_equal "(.:format)", Path.suffix(none, false, true)
    assert_equal "(/.:format)", Path.suffix(none, true, true)
    fixed = Elah::Framework::Layer.new
    fixed.single[:format] = :json
    fixed.stacked[:content_types] << { json: "application/json" }
    assert_equal "(.json)", Path.suffix(Elah::Framework::Settings.new([fixed]), false, false)
  end

  def test_names_and_shapes
    assert_equal %w[id rest format], Path.names("/a/:id/{+rest}(.:format)")
    assert_equal %w[id splat], Path.names('/a\:b/\*/:id/*(.json)')
    assert_equal Path.shape("/a/:id/*rest"), Path.shape("/a/{name}/{+more}")
    refute_equal Path.shape("/a/:id"), Path.shape("/a/*id")
    assert_empty Path.names('/a\:b')
  end
end
