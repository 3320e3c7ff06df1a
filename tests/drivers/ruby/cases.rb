# The cases of Ruby's clients.
require 'bigdecimal'
require 'digest'
require 'tempfile'
require_relative 'clients'

$client = { 'mysql2' => Plain, 'activerecord' => Active }.fetch(ARGV[0])
SCHEMA = ENVIRONMENT['SCHEMA']
$stdout.sync = true

def say(what)
  puts "#{$case}: #{what}".gsub(SCHEMA, 'SCHEMA')
end

def show(value)
  case value
  when Array then "[#{value.map { |v| show(v) }.join(', ')}]"
  when String
    return "text:#{value.bytesize}:#{Digest::SHA256.hexdigest(value)}" if value.bytesize > 80

    value.encoding == Encoding::BINARY || !value.valid_encoding? ? "x'#{value.unpack1('H*')}'" : value.inspect
  when BigDecimal then "D(#{value.to_s('F')})"
  when Time then value.strftime('T(%F %T.%6N)')
  else value.inspect
  end
end

def fault(error)
  inner = error.respond_to?(:error_number) ? error : error.cause
  own = inner.respond_to?(:error_number) ? "#{inner.error_number} #{inner.sql_state} " : ''
  "error #{error.class} #{own}#{(inner || error).message.lines.first.to_s.strip}"
end

def tell(what)
  say "#{what} = #{show(yield)}"
rescue StandardError => e
  say "#{what} = #{fault(e)}"
end

def opened(more = {})
  session = $client.new(more)
  yield session
ensure
  begin
    session&.close
  rescue StandardError
    nil
  end
end

def connect(s)
  tell('version') { s.value('SELECT VERSION()') }
  tell('TLS') { s.rows("SHOW SESSION STATUS WHERE Variable_name = 'Ssl_cipher' AND Value <> ''").empty? ? 'no' : 'yes' }
  tell('account') { s.value('SELECT CURRENT_USER()') }
  tell('character set') { s.rows('SELECT @@character_set_client, @@character_set_results, @@collation_connection, @@sql_mode') }
  { password: 'wrong', database: 'nosuch', username: 'nosuch' }.each do |what, wrong|
    tell("wrong #{what}") { opened(what => wrong) { |other| other.value('SELECT 1') } }
  end
end

def types(s)
  %w[numbers texts bytes times durations others].each do |table|
    { text: ->(sql) { s.rows(sql) }, prepared: ->(sql) { s.prepared(sql) } }.each do |way, run|
      run.call("SELECT * FROM #{table} ORDER BY id").each { |row| say "#{table} #{way} #{show(row)}" }
    rescue StandardError => e
      say "#{table} #{way} #{fault(e)}"
    end
  end
end

def prepared(s)
  [1, -1.5, 'ü€😀', nil, true, "\x00\xff'".b, Time.utc(2024, 2, 29, 12, 34, 56), 2**62, BigDecimal('1.10')].each_with_index do |v, i|
    tell("parameter #{i}") { s.prepared("SELECT ? AS v#{i}, LENGTH(?) AS l", v, v) }
  end
  2.times do
    tell('lock') { s.prepared('SELECT GET_LOCK(?, ?) AS got', "#{SCHEMA}.p", 0) }
    tell('locks') { s.prepared('SELECT GET_LOCK(?, ?), IS_USED_LOCK(?) = CONNECTION_ID(), RELEASE_LOCK(?)', "#{SCHEMA}.p", 0, "#{SCHEMA}.p", "#{SCHEMA}.p") }
  end
  tell('all') { s.value('SELECT RELEASE_ALL_LOCKS()') }
  tell('insert') { s.prepared('INSERT INTO items (name, amount) VALUES (?, ?)', 'p', 7) }
  tell('update') { s.prepared('UPDATE items SET amount = ? WHERE name = ?', 8, 'p') }
  tell('delete') { s.prepared('DELETE FROM items WHERE name = ?', 'p') }
  tell('syntax') { s.prepared('SELEC ?', 1) }
  tell('missing') { s.prepared('SELECT * FROM nosuch WHERE id = ?', 1) }
  return unless s.is_a?(Plain)

  kept = s.raw.prepare('SELECT CONCAT(?) AS v')
  [1, 'two', nil, 3.5].each { |v| tell('another type') { kept.execute(v).to_a.map(&:values) } }
  kept.close
end

def transactions(s)
  opened do |other|
    s.rows('BEGIN')
    tell('insert') { s.rows("INSERT INTO items (name, amount) VALUES ('a', 1), ('b', 2)") }
    tell('not seen') { other.value('SELECT COUNT(*) FROM items') }
    s.rows('ROLLBACK')
    tell('rolled back') { s.value('SELECT COUNT(*) FROM items') }
    s.rows('BEGIN')
    s.rows("INSERT INTO items (name, amount) VALUES ('a', 1)")
    s.rows('SAVEPOINT x')
    s.rows("INSERT INTO items (name, amount) VALUES ('b', 2)")
    s.rows('ROLLBACK TO SAVEPOINT x')
    s.rows('COMMIT')
    tell('committed') { other.rows('SELECT name, amount FROM items ORDER BY name') }
    other.rows('SET SESSION innodb_lock_wait_timeout = 1')
    s.rows('BEGIN')
    s.rows("UPDATE items SET amount = 5 WHERE name = 'a'")
    tell('row lock') { other.rows("UPDATE items SET amount = 6 WHERE name = 'a'") }
    s.rows('ROLLBACK')
    s.rows('DELETE FROM items')
  end
end

def errors(s)
  s.rows("INSERT INTO items (id, name) VALUES (1, 'taken')")
  [
    'SELEC 1', 'SELECT nosuch FROM items', 'SELECT * FROM nosuch', "INSERT INTO items (name) VALUES ('taken')",
    'INSERT INTO items (name) VALUES (NULL)', "INSERT INTO items (name, amount) VALUES ('x', 5000)", 'SELECT 1; SELECT 2',
    "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'öurs', MYSQL_ERRNO = 4321", 'CALL nosuch()',
    "SELECT GET_LOCK(REPEAT('x', 65), 0) AS x", 'SELECT GET_LOCK() AS x', "SELECT RELEASE_LOCK('nosuch') AS x",
    'SELECT GET_LOCK(NULL, 0) AS x', "DO RELEASE_LOCK('nosuch')", 'KILL 4294967295', '',
    'SELECT (SELECT n FROM digits) AS x', 'SELECT 18446744073709551615 + 1 AS x', "SELECT 'still here' AS x"
  ].each { |sql| tell(sql) { s.rows(sql) } }
  s.rows('DELETE FROM items')
end

def big_packet(s)
  data = (0...(20 << 20) / 64).map { |i| Digest::SHA512.digest(i.to_s) }.join
  say "sent = #{Digest::SHA256.hexdigest(data)}"
  tell('text') { s.rows("SELECT SHA2(b, 256) AS there, b AS back FROM (SELECT x'#{data.unpack1('H*')}' AS b) x") }
  tell('prepared') { s.prepared('SELECT SHA2(?, 256) AS there, ? AS back', data, data) } if s.is_a?(Plain)
  tell('afterwards') { s.value('SELECT 1') }
end

def big_result(s)
  return unless s.is_a?(Plain)

  sum = Digest::SHA256.new
  n = 0
  s.stream('SELECT f.n*100000+e.n*10000+d.n*1000+c.n*100+b.n*10+a.n AS id, REPEAT(CHAR(97+a.n), 20+e.n) AS word,
    IF(b.n = 3, NULL, c.n/7) AS part FROM digits a, digits b, digits c, digits d, digits e, digits f WHERE f.n < 2 ORDER BY id') do |row|
    n += 1
    sum.update("#{row[0]}|#{row[1]}|#{row[2]&.to_s('F')}")
  end
  say "#{n} rows, #{sum.hexdigest}"
  tell('afterwards') { s.value('SELECT 1') }
end

# All results of one text.
def every(raw, sql)
  all = [raw.query(sql)&.map(&:values)]
  all << raw.store_result&.map(&:values) while raw.next_result
  all
end

def multi_results(s)
  return unless s.is_a?(Plain)

  opened(multi: true) do |m|
    lock = "#{SCHEMA}.m"
    tell('statements') { every(m.raw, "SELECT 1 AS a; SELECT 'b' AS b, 2 AS c; DO 1; SELECT n FROM digits WHERE n < 2") }
    tell('error between') { every(m.raw, 'SELECT 1 AS a; SELECT nosuch; SELECT 3') }
    tell('locks') { every(m.raw, "SELECT GET_LOCK('#{lock}', 0); SELECT IS_USED_LOCK('#{lock}') = CONNECTION_ID(); SELECT RELEASE_LOCK('#{lock}')") }
    tell('call') { every(m.raw, 'CALL results(3, @y)') }
    tell('out') { m.value('SELECT @y') }
  end
end

def warnings(s)
  s.rows("SET SESSION sql_mode = ''")
  ["INSERT INTO loaded VALUES ('12x', REPEAT('y', 30))", 'DROP TABLE IF EXISTS nosuch', "SELECT CAST('1x' AS SIGNED) AS x"].each do |sql|
    s.rows(sql)
    say "count #{s.raw.warning_count}" if s.is_a?(Plain)
    tell('warnings') { s.rows('SHOW WARNINGS') }
  end
  s.rows('DELETE FROM loaded')
end

def infile(s)
  large = (0...100_000).map { |i| "#{i},name #{i}\n" }.join
  ["1,eins\n2,zwölf\n3,\\N\n", '', large].each do |text|
    Tempfile.create('infile') do |file|
      file.write(text)
      file.flush
      tell('loaded') { s.rows("LOAD DATA LOCAL INFILE '#{file.path}' INTO TABLE loaded CHARACTER SET utf8mb4 FIELDS TERMINATED BY ','") }
      tell('rows') { s.rows('SELECT COUNT(*), SUM(id), MAX(name), COUNT(name) FROM loaded') }
      s.rows('DELETE FROM loaded')
    end
  end
  tell('no file') { s.rows("LOAD DATA LOCAL INFILE '/nosuch/file' INTO TABLE loaded") }
  tell('afterwards') { s.value('SELECT 1') }
end

def compression(s)
  return unless s.is_a?(Plain)

  opened(compress: true) do |c|
    tell('large') { c.value("SELECT REPEAT('x', 300000)") }
    tell('up') { c.value('SELECT LENGTH(?)', 'y' * 300_000) }
    tell('more') { c.value("SELECT SHA2('#{'y' * (17 << 20)}', 256)") }
    tell('many') { c.rows('SELECT COUNT(*), SUM(a.n) FROM digits a, digits b, digits c') }
  end
end

def reconnect(s)
  opened do |victim|
    id = victim.value('SELECT CONNECTION_ID()')
    victim.rows("DO GET_LOCK('#{SCHEMA}.k', 0)")
    tell('held') { s.value("SELECT IS_USED_LOCK('#{SCHEMA}.k') = #{id}") }
    s.rows("KILL #{id}")
    tell('freed') { s.value("SELECT GET_LOCK('#{SCHEMA}.k', 10)") }
    sleep 0.1
    tell('killed') { victim.value('SELECT 1') }
    if victim.is_a?(Active)
      victim.connection.reconnect!
      tell('reconnected') { victim.value('SELECT CONNECTION_ID()') != id }
    end
  end
  opened { |own| tell('by itself') { own.rows('KILL CONNECTION_ID()') } }
end

# ActiveRecord's reset! is COM_CHANGE_USER.
def reset(s)
  return unless s.is_a?(Active)

  opened do |other|
    id = s.value('SELECT CONNECTION_ID()')
    s.rows('SET @x = 1')
    s.rows("DO GET_LOCK('#{SCHEMA}.r', 0)")
    tell('other') { other.value("SELECT GET_LOCK('#{SCHEMA}.r', 0)") }
    s.connection.reset!
    tell('other afterwards') { other.value("SELECT GET_LOCK('#{SCHEMA}.r', 10)") }
    tell('variable') { s.value('SELECT @x') }
    tell('same connection') { s.value('SELECT CONNECTION_ID()') == id }
    tell('lock') { s.value("SELECT GET_LOCK('#{SCHEMA}.r', 0)") }
  end
end

def waits(session, lock)
  waiting = Thread.new { session.value("SELECT GET_LOCK('#{lock}', 30)") }
  sleep 0.2
  waiting
end

def lock(a)
  lock = "#{SCHEMA}.lock"
  b = $client.new
  id = a.value('SELECT CONNECTION_ID()')
  tell('first') { a.value('SELECT GET_LOCK(?, 5)', lock) }
  tell('second at once') { b.value('SELECT GET_LOCK(?, 0)', lock) }
  tell('free') { b.value('SELECT IS_FREE_LOCK(?)', lock) }
  tell('used by first') { b.value('SELECT IS_USED_LOCK(?)', lock) == id }
  tell('released by second') { b.value('SELECT RELEASE_LOCK(?)', lock) }
  second = waits(b, lock)
  tell('released') { a.value('SELECT RELEASE_LOCK(?)', lock) }
  say "second = #{show(second.value)}"
  tell('again') { b.value('SELECT GET_LOCK(?, 0)', lock) }
  tell('first after a second') { a.value("SELECT GET_LOCK('#{lock}', 1)") }
  first = waits(a, lock)
  b.close
  say "first when second closed = #{show(first.value)}"
  tell('all') { a.value('SELECT RELEASE_ALL_LOCKS()') }
  tell('none') { a.value('SELECT RELEASE_LOCK(?)', lock) }
  advisory(a, lock) if a.is_a?(Active)
end

def busy(s)
  s.rows('CREATE TABLE busy (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)')
  s.rows('INSERT INTO busy (n) VALUES (0)')
  tell('lock') { s.value("SELECT GET_LOCK('busy', 5)") }
  errors = 0
  over = (1..400).any? do
    sleep 0.05
    s.rows('UPDATE busy SET n = n + 1')
    s.value('SELECT n > 510 FROM busy') == 1
  rescue StandardError
    errors += 1
    false
  end
  say "over: #{over}, one error at most: #{errors < 2}"
  tell('mine') { s.value("SELECT IS_USED_LOCK('busy') = CONNECTION_ID()") }
  tell('id') { s.value('SELECT id = LAST_INSERT_ID() FROM busy') }
  tell('released') { s.value("SELECT RELEASE_LOCK('busy')") }
  s.rows('DROP TABLE busy')
end

# What migrations do, and with_advisory_lock.
def advisory(a, lock)
  opened do |b|
    tell('supported') { a.connection.supports_advisory_locks? }
    tell('advisory') { a.connection.get_advisory_lock(lock) }
    tell('advisory second') { b.connection.get_advisory_lock(lock) }
    tell('advisory released by second') { b.connection.release_advisory_lock(lock) }
    tell('advisory released') { a.connection.release_advisory_lock(lock) }
    tell('advisory after a while') { b.connection.get_advisory_lock(lock, 5) }
    # Names and aliases as the gem with_advisory_lock has them.
    tell('held') { a.connection.select_value("SELECT GET_LOCK('#{lock}', 0) AS t#{'ab' * 4}").to_i.positive? }
    tell('released') { b.connection.select_value("SELECT RELEASE_LOCK('#{lock}') AS t#{'cd' * 4}").to_i.positive? }
    tell('free') { a.connection.select_value("SELECT IS_FREE_LOCK('#{lock}')") }
  end
end

# Migrations take a lock of their own.
def model(s)
  return unless s.is_a?(Active)

  ActiveRecord::Base.establish_connection(settings.merge(adapter: 'mysql2', pool: 5, prepared_statements: true))
  ActiveRecord::Migration.verbose = false
  migration = Class.new(ActiveRecord::Migration[6.1]) do
    def change
      create_table(:things) do |t|
        t.string :name, limit: 20, index: { unique: true }
        t.integer :amount
        t.datetime :at, precision: 6
        t.binary :data
      end
    end
  end
  Object.const_set(:CreateThings, migration)
  migrations = [ActiveRecord::MigrationProxy.new('CreateThings', 1, 'create_things.rb', '').tap { |m| m.define_singleton_method(:migration) { CreateThings.new('CreateThings', 1) } }]
  table = ActiveRecord::SchemaMigration
  tell('migrate') { ActiveRecord::Migrator.new(:up, migrations, table).migrate.size }
  thing = Object.const_set(:Thing, Class.new(ActiveRecord::Base))
  tell('columns') { thing.columns.map { |c| "#{c.name} #{c.sql_type}" } }
  tell('create') { thing.create!(name: 'ü', amount: 1, at: Time.at(1e9).utc, data: "\0\xff".b).attributes.values }
  tell('duplicate') { thing.create!(name: 'ü') }
  tell('find') { thing.where(name: 'ü').lock.first.attributes.values }
  tell('update') { thing.where(amount: 1).update_all('amount = amount + 4') }
  tell('nested') do
    thing.transaction do
      thing.create!(name: 'outer')
      thing.transaction(requires_new: true) do
        thing.create!(name: 'inner')
        raise ActiveRecord::Rollback
      end
    end
    thing.order(:id).pluck(:name)
  end
  tell('pool') do
    (1..8).map do
      Thread.new do
        thing.connection_pool.with_connection do |c|
          [c.get_advisory_lock("#{SCHEMA}.pool", 30), c.release_advisory_lock("#{SCHEMA}.pool")]
        end
      end
    end.map(&:value)
  end
  tell('down') { ActiveRecord::Migrator.new(:down, migrations, table).migrate.size }
end

opened do |s|
  File.foreach(File.join(__dir__, '../setup.sql'), chomp: true, encoding: 'utf-8') do |line|
    flavour, sql = line.match(/\A(?:(mysql|mariadb): )?(.*)\z/).captures
    next if sql.empty? || sql.start_with?('#') || (flavour && flavour != ENVIRONMENT['FLAVOUR'])

    s.rows(sql)
  end
end
%i[connect types prepared transactions errors big_packet big_result multi_results warnings infile compression reconnect reset lock busy model].each do |name|
  $case = name
  opened { |s| send(name, s) }
rescue StandardError => e
  say fault(e)
end
