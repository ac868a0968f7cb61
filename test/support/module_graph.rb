# frozen_string_literal: true

# The modules of a Rust crate and which of them use each other, read from the `use` lines and the paths in its code. A
# module is a file with the folder of the same name. Files that only gather modules, as the crate's root does, are none:
# the modules below them count.
class ModuleGraph
  # @param crate [String] the folder of a crate
  def initialize(crate)
    @src = File.join(crate, "src")
  end

  # @return [Hash{String=>Array<String>}] by the name of a module those that it uses
  def edges
    @edges ||= files.group_by { |file| module_of(file) }.except(nil).to_h do |name, its_files|
      used = its_files.flat_map { |file| paths(file) }.uniq & names
      [name, used - [name]]
    end
  end

  # @return [Array<Array<String>>] modules that use each other in a circle
  def circles
    order = []
    edges.each_key { |name| visit(name, edges, [], order) }
    reversed = Hash.new { |graph, name| graph[name] = [] }
    edges.each { |name, used| used.each { |other| reversed[other] << name } }
    seen = []
    components = order.reverse.filter_map { |name| visit(name, reversed, seen, []) unless seen.include?(name) }
    components.select { |component| component.size > 1 }.map(&:sort)
  end

  # @return [Array<String>] the crates of this workspace that the code names
  def crates = files.flat_map { |file| code(file).scan(/\b(elah_\w+)::/).flatten }.uniq.map { |name| name.tr("_", "-") }

  private

  def files = @files ||= Dir["#{@src}/**/*.rs"].reject { |file| file.match?(%r{/tests(\.rs|/)}) }
  def names = @names ||= files.filter_map { |file| module_of(file) }.uniq

  def module_of(file)
    first, second = segments(file)
    return if %w[lib main].include?(first)

    gathering.include?(first) ? second && "#{first}/#{second}" : first
  end

  def segments(file) = file.delete_prefix("#{@src}/").delete_suffix(".rs").split("/")

  def gathering
    @gathering ||= Dir["#{@src}/*.rs"].select { |file| code(file).lines.all? { |line| line.match?(/\A\s*(#|pub|mod|$)/) && !line.match?(/\b(fn|struct|use)\b/) } }
                                      .map { |file| File.basename(file, ".rs") }
  end

  # What paths from the crate's root lead to.
  def paths(file)
    depth = segments(file).size
    to_root = /(?:crate|(?:super::){#{depth - 1}}super)/
    to_folder = /super::(?!super)/ if depth == 2 && gathering.include?(segments(file).first)
    text = code(file)
    from_root = text.scan(/\b#{to_root}::(\w+)(?:::(\w+))?/) + groups(text, to_root)
    beside = to_folder ? text.scan(/\b#{to_folder}(\w+)/).map { |(name)| [segments(file).first, name] } : []
    (from_root + beside).map { |first, second| gathering.include?(first) ? "#{first}/#{second}" : first }
  end

  # `use crate::{a, b::c}` and `use crate::folder::{a, b}`.
  def groups(text, to_root)
    text.scan(/\b#{to_root}::(?:(\w+)::)?\{(.*?)\}\s*;/m).flat_map do |folder, group|
      group.gsub(/\{.*?\}/m, "").scan(/[\w:]+/).map { |path| folder ? [folder, path[/\w+/]] : path.split("::").first(2) }
    end
  end

  # Without comments and the file's own tests.
  def code(file) = File.read(file).split(/^#\[cfg\(test\)\]\s*\n(?:#.*\n)*mod \w+ \{/).first.gsub(%r{//.*}, "")

  def visit(name, graph, seen, order)
    return order if seen.include?(name) || order.include?(name)

    seen << name
    graph[name].each { |other| visit(other, graph, seen, order) }
    order << name
  end
end
