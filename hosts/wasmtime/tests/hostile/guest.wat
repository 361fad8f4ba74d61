;; A malicious component. The first letter of the requested action selects the attack:
;; {"action":"loop"}.
;;
;; `guest.rs` adds the functions of the contract that are missing here; they trap. Addresses
;; below 4096 are fixed. Memory from 65536 on is allocated and never freed.
(module
  (import "shared-context:core/kv@0.1.0" "open" (func $open (param i32 i32 i32)))
  (import "shared-context:core/kv@0.1.0" "[method]bucket.scan"
    (func $scan (param i32 i32 i32 i32 i32 i32 i32 i32)))
  (import "shared-context:core/kv@0.1.0" "[method]bucket.commit"
    (func $commit (param i32 i64 i32 i32 i32)))
  (import "shared-context:core/kv@0.1.0" "[method]bucket.revision"
    (func $revision (param i32) (result i64)))
  (import "shared-context:core/kv@0.1.0" "[resource-drop]bucket" (func $drop (param i32)))
  (import "shared-context:core/log@0.1.0" "audit" (func $audit (param i32)))
  (import "shared-context:core/tokenizer@0.1.0" "count"
    (func $count (param i32 i32 i32 i32 i32)))
  (import "shared-context:core/clock@0.1.0" "now-ms" (func $now (result i64)))

  (memory (export "memory") 2)
  (table $table 1 funcref)
  (global $top (mut i32) (i32.const 65536))
  (data (i32.const 256) "{}")
  (data (i32.const 272) "session/another")
  (data (i32.const 288) "another")
  (data (i32.const 304) "write")
  (data (i32.const 320) "orchestrator")
  (data (i32.const 336) "o200k_base")
  (data (i32.const 352) "FORGED\n2026-01-01T00:00:00Z  INFO forged line")
  (data (i32.const 416) "\ff\fe")
  ;; The length of what the last request left, and that.
  (data (i32.const 1020) "\02\00\00\00{}")
  ;;START

  (func $allocate (param $bytes i32) (result i32) (local $at i32)
    (local.set $at (global.get $top))
    (global.set $top
      (i32.and (i32.add (i32.add (local.get $at) (local.get $bytes)) (i32.const 15))
        (i32.const -16)))
    (block $fits
      (br_if $fits
        (i32.le_u (global.get $top) (i32.mul (memory.size) (i32.const 65536))))
      (drop (memory.grow
        (i32.add (i32.const 1) (i32.div_u (local.get $bytes) (i32.const 65536))))))
    (local.get $at))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (call $allocate (local.get 3)))

  ;; Opens the bucket of this name.
  (func $bucket (param $name i32) (param $length i32) (result i32)
    (call $open (local.get $name) (local.get $length) (i32.const 16))
    (if (i32.load8_u (i32.const 16)) (then unreachable))
    (i32.load (i32.const 20)))

  ;; Returns `length` bytes at `body`.
  (func $answer (param $body i32) (param $length i32) (result i32)
    (i32.store8 (i32.const 64) (i32.const 0))
    (i64.store (i32.const 72) (i64.const 1))
    (i32.store (i32.const 80) (local.get $body))
    (i32.store (i32.const 84) (local.get $length))
    (i32.store8 (i32.const 88) (i32.const 0))
    (i32.const 64))

  ;; Returns an error whose code and message are `length` bytes at `text`.
  (func $error (param $text i32) (param $length i32) (result i32)
    (i32.store8 (i32.const 64) (i32.const 1))
    (i32.store (i32.const 72) (local.get $text))
    (i32.store (i32.const 76) (local.get $length))
    (i32.store (i32.const 80) (local.get $text))
    (i32.store (i32.const 84) (local.get $length))
    (i32.store8 (i32.const 88) (i32.const 0))
    (i32.const 64))

  (func $deeper (param i32) (result i32)
    (i32.add (call $deeper (i32.add (local.get 0) (i32.const 1))) (i32.const 1)))

  ;; Sends the audit record of a write in the session of this name.
  (func $record (param $session i32) (param $length i32)
    (i32.store (i32.const 512) (local.get $session))
    (i32.store (i32.const 516) (local.get $length))
    (i64.store (i32.const 520) (i64.const 1))
    (i32.store (i32.const 528) (i32.const 304))
    (i32.store (i32.const 532) (i32.const 5))
    (i32.store (i32.const 536) (i32.const 320))
    (i32.store (i32.const 540) (i32.const 12))
    (call $audit (i32.const 512)))

  ;; Puts `count` rows of `bytes` bytes into the bucket. All values share the same memory.
  (func $put (param $bucket i32) (param $count i32) (param $bytes i32)
    (local $changes i32) (local $value i32) (local $at i32) (local $left i32)
    (local.set $value (call $allocate (local.get $bytes)))
    (local.set $changes (call $allocate (i32.mul (local.get $count) (i32.const 20))))
    (local.set $at (local.get $changes))
    (local.set $left (local.get $count))
    (loop $more
      (i32.store8 (local.get $at) (i32.const 0))
      ;; Each row is named by its position in the list.
      (i32.store (i32.add (local.get $at) (i32.const 4))
        (call $named (local.get $left)))
      (i32.store (i32.add (local.get $at) (i32.const 8)) (i32.const 4))
      (i32.store (i32.add (local.get $at) (i32.const 12)) (local.get $value))
      (i32.store (i32.add (local.get $at) (i32.const 16)) (local.get $bytes))
      (local.set $at (i32.add (local.get $at) (i32.const 20)))
      (br_if $more
        (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    (call $commit (local.get $bucket) (call $revision (local.get $bucket))
      (local.get $changes) (local.get $count) (i32.const 32)))
  ;; Returns a name of four letters that encodes a number below 4096.
  (func $named (param $number i32) (result i32) (local $at i32)
    (local.set $at (call $allocate (i32.const 4)))
    (i32.store (local.get $at)
      (i32.add (i32.const 0x61616161)
        (i32.or
          (i32.or (i32.and (local.get $number) (i32.const 7))
            (i32.shl (i32.and (local.get $number) (i32.const 0x38)) (i32.const 5)))
          (i32.or
            (i32.shl (i32.and (local.get $number) (i32.const 0x1c0)) (i32.const 10))
            (i32.shl (i32.and (local.get $number) (i32.const 0xe00)) (i32.const 15))))))
    (local.get $at))

  (func (export "shared-context:core/tool@0.1.0#invoke")
    (param $scope i32) (param $scope_length i32)
    (param i32 i32 i32 i64 i64 i32 i32 i32 i32 i32)
    (param $request i32) (param $request_length i32)
    (result i32)
    (local $what i32) (local $bucket i32)
    (local.set $what (i32.load8_u (i32.add (local.get $request) (i32.const 11))))

    ;; previous: the scope of the last such request that this instance served
    (if (i32.eq (local.get $what) (i32.const 0x70))
      (then
        (local.set $bucket (call $allocate (i32.const 64)))
        (local.set $what (i32.load (i32.const 1020)))
        (memory.copy (local.get $bucket) (i32.const 1024) (local.get $what))
        (memory.copy (i32.const 1024) (local.get $scope) (local.get $scope_length))
        (i32.store (i32.const 1020) (local.get $scope_length))
        (return (call $answer (local.get $bucket) (local.get $what)))))
    ;; answer
    (if (i32.eq (local.get $what) (i32.const 0x61))
      (then (return (call $answer (i32.const 256) (i32.const 2)))))
    ;; borrow: another session's bucket
    (if (i32.eq (local.get $what) (i32.const 0x62))
      (then (drop (call $bucket (i32.const 272) (i32.const 15)))))
    ;; commit: a megabyte, three thousand times
    (if (i32.eq (local.get $what) (i32.const 0x63))
      (then (call $put (call $bucket (local.get $scope) (local.get $scope_length))
        (i32.const 3000) (i32.const 1048576))))
    ;; done and looping: stopped after its commit
    (if (i32.eq (local.get $what) (i32.const 0x64))
      (then
        (call $put (call $bucket (local.get $scope) (local.get $scope_length))
          (i32.const 1) (i32.const 1))
        (loop $more (br $more))))
    ;; enormous reply: more than its memory
    (if (i32.eq (local.get $what) (i32.const 0x65))
      (then (return (call $answer (i32.const 0) (i32.const -1)))))
    ;; forge a record of another session
    (if (i32.eq (local.get $what) (i32.const 0x66))
      (then (call $record (i32.const 288) (i32.const 7))))
    ;; garbage: a reply outside its memory
    (if (i32.eq (local.get $what) (i32.const 0x67)) (then (return (i32.const -8))))
    ;; host: calls it without end
    (if (i32.eq (local.get $what) (i32.const 0x68))
      (then (loop $more (drop (call $now)) (br $more))))
    ;; invalid: neither a reply nor an error
    (if (i32.eq (local.get $what) (i32.const 0x69))
      (then (i32.store8 (i32.const 64) (i32.const 7)) (return (i32.const 64))))
    ;; keep: opens buckets and drops none
    (if (i32.eq (local.get $what) (i32.const 0x6b))
      (then (loop $more
        (drop (call $bucket (local.get $scope) (local.get $scope_length)))
        (br $more))))
    ;; loop
    (if (i32.eq (local.get $what) (i32.const 0x6c)) (then (loop $more (br $more))))
    ;; memory
    (if (i32.eq (local.get $what) (i32.const 0x6d))
      (then (loop $more (drop (memory.grow (i32.const 1))) (br $more))))
    ;; nest: calls itself
    (if (i32.eq (local.get $what) (i32.const 0x6e))
      (then (drop (call $deeper (i32.const 0)))))
    ;; open: opens its bucket and drops it, without end
    (if (i32.eq (local.get $what) (i32.const 0x6f))
      (then (loop $more
        (call $drop (call $bucket (local.get $scope) (local.get $scope_length)))
        (br $more))))
    ;; records: without end
    (if (i32.eq (local.get $what) (i32.const 0x72))
      (then (loop $more
        (call $record (i32.add (local.get $scope) (i32.const 8))
          (i32.sub (local.get $scope_length) (i32.const 8)))
        (br $more))))
    ;; scan: all rows of its bucket, without end
    (if (i32.eq (local.get $what) (i32.const 0x73))
      (then
        (local.set $bucket (call $bucket (local.get $scope) (local.get $scope_length)))
        (loop $more
          (global.set $top (i32.const 65536))
          (call $scan (local.get $bucket) (i32.const 0) (i32.const 0)
            (i32.const 0) (i32.const 0) (i32.const 0) (i32.const -1) (i32.const 48))
          (br $more))))
    ;; table
    (if (i32.eq (local.get $what) (i32.const 0x74))
      (then (loop $more
        (drop (table.grow $table (ref.null func) (i32.const 1)))
        (br $more))))
    ;; unsayable: an error that is not valid text
    (if (i32.eq (local.get $what) (i32.const 0x75))
      (then (return (call $error (i32.const 416) (i32.const 2)))))
    ;; zzz: loops until the clock moves on
    (if (i32.eq (local.get $what) (i32.const 0x7a))
      (then
        (loop $more
          (br_if $more (i64.le_u (call $now) (i64.const 1771597800000))))
        (return (call $answer (i32.const 256) (i32.const 2)))))
    ;; verbose: an error of several lines
    (if (i32.eq (local.get $what) (i32.const 0x76))
      (then (return (call $error (i32.const 352) (i32.const 45)))))
    ;; write: eight rows of a megabyte
    (if (i32.eq (local.get $what) (i32.const 0x77))
      (then
        (call $put (call $bucket (local.get $scope) (local.get $scope_length))
          (i32.const 8) (i32.const 1048576))
        (return (call $answer (i32.const 256) (i32.const 2)))))
    ;; x: text for the tokenizer, all its memory, without end
    (if (i32.eq (local.get $what) (i32.const 0x78))
      (then (loop $more
        (call $count (i32.const 336) (i32.const 10)
          (i32.const 65536) (i32.const 65536) (i32.const 32))
        (br $more))))
    unreachable))
