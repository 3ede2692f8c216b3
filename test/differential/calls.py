"""calls - the builtins that generated policies call: name, kinds of arguments, kind of the result.

A kind is a type of `grammar.py` (num, str, bool, any, arr, arr:num, set, set:str, obj, ...) or a pool of `pools.py`. What
needs the network, chance or a key is left out, and so is what ends by the clock.
"""

CALLS = """
abs num num
ceil num num
floor num num
round num num
count coll num
sum nums num
product nums num
max arr any
min set any
max nums num
min arr:num num
sort arr arr
sort set arr
array.concat arr,arr arr
array.concat arr:num,arr:num arr:num
array.reverse arr arr
array.flatten arr arr
array.slice arr,small,small arr
numbers.range bound,bound arr:num
numbers.range_step bound,bound,bound arr:num
intersection set:set set
union set:set set
base64.encode str str
base64.decode base64 str
base64.is_valid base64 bool
base64url.encode str str
base64url.encode_no_pad str str
base64url.decode base64 str
hex.encode str str
hex.decode hex str
urlquery.encode str str
urlquery.decode query str
urlquery.decode_object query obj
urlquery.encode_object obj:str str
json.marshal any str
json.unmarshal json any
json.is_valid json bool
json.marshal_with_options any,marshal str
json.filter obj,paths obj
json.remove obj,paths obj
json.patch any,patch any
json.match_schema jsondoc,schema arr
json.verify_schema schema arr
yaml.marshal any str
yaml.unmarshal yaml any
yaml.is_valid yaml bool
bits.and int,int num
bits.or int,int num
bits.xor int,int num
bits.negate int num
bits.lsh int,shift num
bits.rsh int,shift num
concat str,arr:str str
concat str,set:str str
contains str,str bool
startswith str,str bool
endswith str,str bool
format_int num,base str
indexof str,str num
indexof_n str,str arr:num
lower str str
upper str str
replace str,str,str str
split str,str arr:str
strings.split_n str,str,small arr:str
sprintf format,arr str
substring str,small,small str
strings.any_prefix_match strs,strs bool
strings.any_suffix_match strs,strs bool
strings.count str,str num
strings.reverse str str
strings.replace_n obj:str,str str
strings.render_template template,obj str
trim str,str str
trim_left str,str str
trim_right str,str str
trim_prefix str,str str
trim_suffix str,str str
trim_space str str
regex.match regex,str bool
regex.is_valid regex bool
regex.split regex,str arr:str
regex.replace str,regex,replacement str
regex.find_n regex,str,small arr:str
regex.find_all_string_submatch_n regex,str,small arr
regex.template_match template_pattern,str,brace,brace2 bool
regex.globs_match glob,glob bool
glob.match glob,delimiters,str bool
glob.quote_meta str str
object.get obj,key,any any
object.get obj,keypath,num any
object.keys obj set
object.remove obj,keys obj
object.filter obj,keys obj
object.union obj,obj obj
object.union_n arr:obj obj
object.subset obj,obj bool
object.subset set,set bool
object.subset arr,arr bool
graph.reachable graph,names set
graph.reachable_paths graph,names set
semver.compare semver,semver num
semver.is_valid semver bool
net.cidr_contains cidr,ip bool
net.cidr_intersects cidr,cidr bool
net.cidr_is_valid cidr bool
net.cidr_merge cidrs set
net.cidr_contains_matches cidrs,ips set
net.cidr_expand small_cidr set
time.clock moment_of arr:num
time.date moment_of arr:num
time.weekday moment_of str
time.diff moment_of,moment_of arr:num
time.add_date weekday_ns,small,small,small num
time.format formatted_moment str
time.parse_ns layout,moment num
time.parse_rfc3339_ns moment num
time.parse_duration_ns duration num
time.now_ns - num
units.parse unit num
units.parse_bytes unit num
uuid.parse uuid obj
uri.parse uri obj
uri.is_valid uri bool
to_number scalar num
type_name any str
is_string any bool
is_number any bool
is_boolean any bool
is_null any bool
is_array any bool
is_object any bool
is_set any bool
crypto.md5 str str
crypto.sha1 str str
crypto.sha256 str str
crypto.hmac.sha256 str,str str
crypto.hmac.md5 str,str str
crypto.hmac.equal str,str bool
io.jwt.decode jwt arr
graphql.is_valid graphql,graphql bool
graphql.parse_query graphql obj
graphql.schema_is_valid graphql bool
"""


def _read(table):
    rows = [line.split() for line in table.strip().splitlines()]
    return [(name, [] if kinds == "-" else kinds.split(","), result) for name, kinds, result in rows]


BUILTINS = _read(CALLS)
BY_RESULT = {}
for _row in BUILTINS:
    BY_RESULT.setdefault(_row[2], []).append(_row)
