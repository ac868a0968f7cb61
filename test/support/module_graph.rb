# frozen_string_literal: true

# The modules of a Rust crate and which of them use each other, read from the `use` lines and the paths in its code. A
# module is a file with the folder of the same name. Files that only gather modules, as the crate's root does, are
# none: the modules below them count.
class ModuleGraph
  PATH = /\b(crate|super(?:::super)*)::((?:\w+::)*)(?:\{((?:[^{}]|\{[^{}]*\})*)\}|(\w+))/m.freeze

  # @param crate [String] the folder of a crate
  def initialize(crate)
    @src = File.join(crate, "src")
  end

  # @param folder [Array<String>] the names that lead to a module; none is the crate
  # @return [Hash{String=>Array<String>}] by the name of a module in the folder those in the folder that it uses
  def edges(folder = [])
    inside = files.group_by { |file| node(segments(file), folder) }.except(nil)
    inside.to_h do |name, its_files|
      used = its_files.flat_map { |file| paths(file) }.map { |path| node(path, folder) }.uniq
      [name, (used & inside.keys) - [name]]
    end
  end

  # @return [Array<Array<String>>] modules that use each other in a circle: those of the crate, and the files of each
  # folder
  def circles
    [[], *folders].flat_map do |folder|
      circles_in(edges(folder)).map { |names| names.map { |name| [*folder, name].join("/") } }
    end
  end

  # @return [Array<String>] the crates of this workspace that the code names
  def crates = files.flat_map { |file| code(file).scan(/\b(elah_\w+)::/).flatten }.uniq.map { |name| name.tr("_", "-") }

  private

  def files = @files ||= Dir["#{@src}/**/*.rs"].reject { |file| file.match?(%r{/tests(\.rs|/)}) }

  # The modules that have a folder, without those whose own modules stand for them.
  def folders
    files.map { |file| segments(file)[0...-1] }.uniq
         .reject { |folder| folder.empty? || gathering.include?(folder.join("/")) }
  end

  # The name of the module in the folder that a path leads to or through.
  def node(path, folder)
    return unless path.size > folder.size && path.first(folder.size) == folder

    first, second = path.drop(folder.size)
    return first unless folder.empty?
    return if %w[lib main].include?(first)

    gathering.include?(first) ? second && "#{first}/#{second}" : first
  end

  def segments(file) = file.delete_prefix("#{@src}/").delete_suffix(".rs").split("/")

  def gathering
    @gathering ||= Dir["#{@src}/*.rs"].select { |file| gathers?(file) }.map { |file| File.basename(file, ".rs") }
  end

  def gathers?(file)
    code(file).lines.all? { |line| line.match?(/\A\s*(#|pub|mod|$)/) && !line.match?(/\b(fn|struct|use)\b/) }
  end

  # The paths from the crate's root that the file names.
  def paths(file)
    @paths ||= {}
    @paths[file] ||= code(file).scan(PATH).flat_map do |root, names, group, name|
      above = root == "crate" ? [] : segments(file)[0...-root.scan("super").size]
      lasts = group ? group.gsub(/\{.*?\}/m, "").scan(/[\w:]+/) : [name]
      lasts.map { |last| [*above, *names.split("::"), *last.split("::")] }
    end
  end

  # Without comments and the file's own tests.
  def code(file) = File.read(file).split(/^#\[cfg\(test\)\]\s*\n(?:#.*\n)*mod \w+ \{/).first.gsub(%r{//.*}, "")

  def circles_in(graph)
    order = []
    graph.each_key { |name| visit(name, graph, [], order) }
    reversed = Hash.new { |edges, name| edges[name] = [] }
    graph.each { |name, used| used.each { |other| reversed[other] << name } }
    seen = []
    components = order.reverse.filter_map { |name| visit(name, reversed, seen, []) unless seen.include?(name) }
    components.select { |component| component.size > 1 }.map(&:sort)
  end

  def visit(name, graph, seen, order)
    return order if seen.include?(name) || order.include?(name)

    seen << name
    graph[name].each { |other| visit(other, graph, seen, order) }
    order << name
  end
end
