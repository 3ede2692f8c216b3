#include "rego/crypto/signature.h"

#include <string.h>

#include "base/buf.h"
#include "harness/test.h"
#include "rego/crypto/hash.h"
#include "value/json.h"

/* The key of RFC 6979, A.2.5, an Ed25519 key of RFC 8037, and an RSA key made for this test alone. */
static const char ec256[] =
    "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"YP7UuiVanTHJYet0xjVtaMBJuJI7Yfps5mliLmDyn7Y\","
    "\"y\":\"eQP-EAi4vJmkGunpVii8ZPLxsgwtfp9Rd6PClNRGIpk\",\"d\":\"ya-p2EW6dRZrXCFXZ7HWk05Qw9s26JsSe4piKxIPZyE\"}";
static const char ed25519[] =
    "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"d\":\"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A\","
    "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}";

static const char rsa1152[] =
    "{\"d\":\"fDyFH_bvgxMxCBlT-faGS4Urm3KvlT0hAaDNA6xKU61GuFNpkdtDhQEoqa6TQ5xMhwNg-ORxhASY82DHk2k-cFtboMW10Zk1W2JLew8"
    "t0pEmBielXek08OWSRZi3nbI8BdqREGyL8UxmJLbYzWfJXQ7t57M2G-zTQs-tj48KFUI7GPu3yMVzNy1qtWXqwTTZ\",\"dp\":\"H2oxNQxUQWF"
    "J4PsxWkNpK3JVERlJFNAfR9TvN0gkRHI2mfX9lPFGNrczv6aeL81DML36bhteI_yNvNNlVxwhQZ0NaTv5r5pn\",\"dq\":\"FL5-Z8WR-tGOXXF"
    "jQ7LQF2cT1eTYN71-uzsq631DEp9oGoo5moUs72o2cWmIA_baWd_xAVp3BAxKkjWuWHIlW1-ry1R4E5xD\",\"e\":\"AQAB\",\"kty\":\"RSA"
    "\",\"n\":\"xoUCFniDShtQjUdLQkQJc0g8n7qPfEDNuJSYehjhM_EI4sOtypNdRCbiWCdtznAHNhDNgXnEW0SUATWPcxdEtPj_I7LkkcB1iZm01"
    "bvtwB_5vZhaENk8rMFRuPh7w91TJfNiwZfT_MWagQXC4xsx-GvlFIYI_MjmOo_ukhkBcW-MBQ6aADqM5Va7gH1r_OUB\",\"p\":\"5QoDkRatme"
    "rY59oEp7Uj789CFYpUL_5LPanomKFoVhP3HpM5hrPoazx5hEvryqvQquim5A5cT7RogE2Gdwc3NsY-qZreLuEf\",\"q\":\"3eNNRDq8SYR1HZ0"
    "BbJhpt9lcgTgeRllvC7yR2Pui535r9pIpD7Nun1JuNLpomgu2U5OnTvz3Hy6yWQG8fDKMXk3DioTtKNXf\",\"qi\":\"bWkgMlekxMd7vNgjLP6"
    "2IwfyV-Fw2CrM1ezJ9TDLEBdxCeUsJzpFntTikWd9kdICwPQ_H4Ir2K4wmMC33jMiH8NUsHzyBvwn\"}";

typedef struct Fixture {
    Arena arena;
    Keys keys;
    Status status;
    Error err;
} Fixture;

static const Key *fixture_open(Fixture *fixture, const char *jwk)
{
    *fixture = (Fixture){ 0 };
    arena_init(&fixture->arena, SIZE_MAX);
    Value value;
    fixture->status = json_parse(&fixture->arena, str_of(jwk), &value, &fixture->err);
    if (!fixture->status) fixture->status = keys_read_jwk(&fixture->arena, value, &fixture->keys, &fixture->err);
    return fixture->status ? NULL : &fixture->keys.keys[0];
}

static void fixture_close(Fixture *fixture)
{
    keys_deinit(&fixture->keys);
    arena_deinit(&fixture->arena);
}

TEST(ecdsa_takes_its_nonce_from_key_and_message, "")
{
    /* RFC 6979, A.2.5: SHA-256, messages "sample" and "test". */
    static const struct { const char *message, *want; } cases[] = {
        { "sample", "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
                    "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8" },
        { "test", "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367"
                  "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083" },
    };
    Fixture fixture;
    const Key *key = fixture_open(&fixture, ec256);
    REQUIRE_OK(fixture.status, &fixture.err);
    const SignatureAlgorithm *algorithm = signature_algorithm_find(STR("ES256"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].message);
        Str signature;
        Error err;
        if (!EXPECT_OK(signature_make(&fixture.arena, algorithm, key, str_of(cases[i].message), 1, &signature, &err), &err))
            continue;
        char hex[256];
        Buf buf = buf_on(hex, sizeof hex);
        buf_hex(&buf, (const uint8_t *)signature.ptr, signature.len);
        EXPECT_STR(buf_peek(&buf), str_of(cases[i].want));
        EXPECT(signature_is_valid(algorithm, key, str_of(cases[i].message), signature));
        EXPECT(!signature_is_valid(algorithm, key, STR("another"), signature));
    }
    fixture_close(&fixture);
}

TEST(every_scheme_verifies_what_it_signed_and_nothing_else, "")
{
    static const struct { const char *algorithm, *jwk; } cases[] = {
        { "ES256", ec256 },    { "EdDSA", ed25519 },  { "HS256", "{\"kty\":\"oct\",\"k\":\"AyM1SysPpbyDfgZld3umj1qz\"}" },
        { "HS384", "{\"kty\":\"oct\",\"k\":\"AyM1SysPpbyDfgZld3umj1qz\"}" },
        { "HS512", "{\"kty\":\"oct\",\"k\":\"AyM1SysPpbyDfgZld3umj1qz\"}" },
        { "RS256", rsa1152 },  { "RS384", rsa1152 },  { "RS512", rsa1152 },
        { "PS256", rsa1152 },  { "PS384", rsa1152 },  { "PS512", rsa1152 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].algorithm);
        Fixture fixture;
        const Key *key = fixture_open(&fixture, cases[i].jwk);
        const SignatureAlgorithm *algorithm = signature_algorithm_find(str_of(cases[i].algorithm));
        Str signature, again;
        Error err;
        if (EXPECT_OK(fixture.status, &fixture.err)
            && EXPECT_OK(signature_make(&fixture.arena, algorithm, key, STR("m"), 7, &signature, &err), &err)) {
            EXPECT(signature_is_valid(algorithm, key, STR("m"), signature));
            EXPECT(!signature_is_valid(algorithm, key, STR("n"), signature));
            EXPECT(!signature_is_valid(algorithm, key, STR("m"), str_slice(signature, 0, signature.len - 1)));
            EXPECT(!signature_is_valid(algorithm, key, STR("m"), STR("")));
            EXPECT_OK(signature_make(&fixture.arena, algorithm, key, STR("m"), 7, &again, &err), &err);
            EXPECT_STR(again, signature);
            /* A key of another kind answers no, and cannot sign. */
            const SignatureAlgorithm *other = signature_algorithm_find(key->kind == KEY_RSA ? STR("ES256") : STR("RS256"));
            EXPECT(!signature_is_valid(other, key, STR("m"), signature));
            EXPECT_INT(signature_make(&fixture.arena, other, key, STR("m"), 7, &again, &err), ERR_INVALID);
        }
        fixture_close(&fixture);
    }
    EXPECT(signature_algorithm_find(STR("none")) == NULL);
    EXPECT(signature_algorithm_find(STR("")) == NULL);
}

TEST(the_salt_of_a_signature_comes_from_the_seed, "")
{
    Fixture fixture;
    const Key *key = fixture_open(&fixture, rsa1152);
    REQUIRE_OK(fixture.status, &fixture.err);
    const SignatureAlgorithm *algorithm = signature_algorithm_find(STR("PS256"));
    Str first, second;
    Error err;
    REQUIRE_OK(signature_make(&fixture.arena, algorithm, key, STR("m"), 1, &first, &err), &err);
    REQUIRE_OK(signature_make(&fixture.arena, algorithm, key, STR("m"), 2, &second, &err), &err);
    EXPECT(!str_is(first, second));
    EXPECT(signature_is_valid(algorithm, key, STR("m"), first));
    EXPECT(signature_is_valid(algorithm, key, STR("m"), second));
    EXPECT(!signature_is_valid(signature_algorithm_find(STR("PS384")), key, STR("m"), first));
    fixture_close(&fixture);
}

TEST(keys_that_are_none_are_refused, "")
{
    static const struct { const char *name, *jwk; } cases[] = {
        { "no type", "{}" },
        { "an unknown type", "{\"kty\":\"XYZ\"}" },
        { "no members", "{\"kty\":\"RSA\"}" },
        { "no base64", "{\"kty\":\"oct\",\"k\":\"!!!\"}" },
        { "an unknown curve", "{\"kty\":\"EC\",\"crv\":\"P-1\",\"x\":\"AA\",\"y\":\"AA\"}" },
        { "no point of the curve", "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}" },
        { "a key of the wrong size", "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AA\"}" },
        { "one bad key of a set", "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AA\"},{\"kty\":\"oct\"}]}" },
        { "keys that are no list", "{\"keys\":5}" },
        { "no object", "5" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].name);
        Fixture fixture;
        fixture_open(&fixture, cases[i].jwk);
        EXPECT_INT(fixture.status, ERR_INVALID);
        EXPECT(fixture.err.text[0] != '\0');
        fixture_close(&fixture);
    }
}

TEST(hashes_and_codes_are_those_of_their_standards, "")
{
    static const struct { HashKind kind; const char *digest, *code; } cases[] = {
        { HASH_MD5, "900150983cd24fb0d6963f7d28e17f72", "d2fe98063f876b03193afb49b4979591" },
        { HASH_SHA1, "a9993e364706816aba3e25717850c26c9cd0d89d", "4fd0b215276ef12f2b3e4c8ecac2811498b656fc" },
        { HASH_SHA256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
          "9c196e32dc0175f86f4b1cb89289d6619de6bee699e4c378e68309ed97a1a6ab" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char hex[2 * HASH_SIZE_MAX];
        Buf buf = buf_on(hex, sizeof hex);
        Hash hash = hash_of(cases[i].kind, STR("abc"));
        buf_hex(&buf, hash.bytes, hash.size);
        EXPECT_STR(buf_peek(&buf), str_of(cases[i].digest));
        buf_clear(&buf);
        hash = hash_hmac(cases[i].kind, STR("key"), STR("abc"));
        buf_hex(&buf, hash.bytes, hash.size);
        EXPECT_STR(buf_peek(&buf), str_of(cases[i].code));
    }
    EXPECT(hash_equals(STR("ab"), STR("ab")));
    EXPECT(!hash_equals(STR("ab"), STR("ac")));
    EXPECT(!hash_equals(STR("ab"), STR("abc")));
    EXPECT(hash_equals(STR(""), STR("")));
}
