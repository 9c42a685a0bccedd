/* Reading and writing JSON, and what happens with NULL everywhere. */
#include "check.h"

#include <locale.h>
#include <math.h>

static void reads(void)
{
    static const char text[] = "{\"name\":\"x\\u0000y\",\"list\":[1,-2.5,9007199254740993,true,null],\"a/b\":{\"~\":\"deep\"},\"name2\":{}}";
    mcplink_json_t *doc = NULL;
    mcplink_error_t *err = NULL;
    const mcplink_json_t *list;
    mcplink_str_t name;
    int64_t number = 0;

    CHECK_STATUS(mcplink_json_parse(text, MCPLINK_NUL, &doc, &err), MCPLINK_OK, err);
    CHECK(mcplink_json_type_of(doc) == MCPLINK_JSON_OBJECT && mcplink_json_len(doc) == 4);
    CHECK_TEXT(mcplink_json_key_at(doc, 1), "list");
    CHECK_TEXT(mcplink_json_key_at(doc, 9), "");
    name = mcplink_json_str(mcplink_json_get(doc, "name"));
    CHECK(name.len == 3 && memcmp(name.ptr, "x\0y\0", 4) == 0);
    list = mcplink_json_get(doc, "list");
    CHECK(mcplink_json_len(list) == 5 && mcplink_json_type_of(list) == MCPLINK_JSON_ARRAY);
    CHECK(mcplink_json_i64(mcplink_json_at(list, 2), &number) && number == 9007199254740993);
    CHECK(!mcplink_json_i64(mcplink_json_at(list, 1), &number) && number == 9007199254740993);
    CHECK(mcplink_json_f64(mcplink_json_at(list, 1)) == -2.5);
    CHECK(mcplink_json_boolean(mcplink_json_at(list, 3)));
    CHECK(mcplink_json_type_of(mcplink_json_at(list, 4)) == MCPLINK_JSON_NULL);
    CHECK(mcplink_json_is_missing(mcplink_json_at(list, 5)) && !mcplink_json_is_missing(mcplink_json_at(list, 4)));
    CHECK_TEXT(mcplink_json_str(mcplink_json_pointer(doc, "/a~1b/~0")), "deep");
    CHECK_TEXT(mcplink_json_text(list), "[1,-2.5,9007199254740993,true,null]");
    CHECK(mcplink_json_text(doc).ptr == mcplink_json_text(doc).ptr);
    mcplink_json_free(doc);
}

static void refuses(void)
{
    static const char *const broken[] = { "", "{", "[1,]", "1 2", "{\"a\"}", "nul", "\"\\ud800\"", "01", "\xff" };
    size_t i;
    for (i = 0; i < sizeof broken / sizeof *broken; i++) {
        mcplink_json_t *doc = (mcplink_json_t *)1;
        mcplink_error_t *err = (mcplink_error_t *)1;
        CHECK(mcplink_json_parse(broken[i], MCPLINK_NUL, &doc, &err) == MCPLINK_E_INVALID);
        CHECK(doc == NULL && err != NULL && *mcplink_error_message(err) != 0);
        CHECK(mcplink_error_status(err) == MCPLINK_E_INVALID && mcplink_error_rpc_code(err) == 0 && !mcplink_error_is_retryable(err));
        mcplink_error_free(err);
        CHECK(mcplink_json_parse(broken[i], MCPLINK_NUL, &doc, NULL) == MCPLINK_E_INVALID);
    }
}

static void writes(void)
{
    mcplink_writer_t *w = mcplink_writer_new();
    mcplink_error_t *err = NULL;
    mcplink_str_t text;

    mcplink_writer_begin_object(w);
    mcplink_writer_key(w, "a");
    mcplink_writer_f64(w, 1.5);
    mcplink_writer_key(w, "b");
    mcplink_writer_begin_array(w);
    mcplink_writer_i64(w, INT64_MIN);
    mcplink_writer_u64(w, UINT64_MAX);
    mcplink_writer_boolean(w, true);
    mcplink_writer_null(w);
    mcplink_writer_str(w, "\"\n\xc3\xa4", MCPLINK_NUL);
    mcplink_writer_raw(w, "{\"c\": 1}", MCPLINK_NUL);
    mcplink_writer_bytes(w, (const uint8_t *)"abcd", 4);
    mcplink_writer_end(w);
    CHECK(mcplink_writer_end(w) == MCPLINK_OK);
    CHECK_STATUS(mcplink_writer_finish(w, &text, &err), MCPLINK_OK, err);
    CHECK_TEXT(text, "{\"a\":1.5,\"b\":[-9223372036854775808,18446744073709551615,true,null,\"\\\"\\n\xc3\xa4\",{\"c\": 1},\"YWJjZA==\"]}");

    /* The first error sticks and is told at the end. */
    CHECK(mcplink_writer_reset(w) == MCPLINK_OK);
    mcplink_writer_begin_object(w);
    CHECK(mcplink_writer_f64(w, 1) == MCPLINK_E_INVALID);
    CHECK(mcplink_writer_end(w) == MCPLINK_E_INVALID);
    CHECK(mcplink_writer_finish(w, &text, &err) == MCPLINK_E_INVALID && text.len == 0 && text.ptr != NULL);
    CHECK(strstr(mcplink_error_message(err), "at byte 1") != NULL && strstr(mcplink_error_message(err), "key") != NULL);
    mcplink_error_free(err);

    mcplink_writer_reset(w);
    CHECK(mcplink_writer_f64(w, (double)NAN) == MCPLINK_E_INVALID);
    mcplink_writer_reset(w);
    CHECK(mcplink_writer_str(w, "\xff", 1) == MCPLINK_E_INVALID);
    mcplink_writer_reset(w);
    CHECK(mcplink_writer_raw(w, "{", 1) == MCPLINK_E_INVALID);
    mcplink_writer_reset(w);
    CHECK(mcplink_writer_bytes(w, (const uint8_t *)"x", MCPLINK_NUL) == MCPLINK_E_INVALID);
    CHECK(mcplink_writer_finish(w, &text, &err) == MCPLINK_E_INVALID && strstr(mcplink_error_message(err), "have a length") != NULL);
    mcplink_error_free(err);
    mcplink_writer_reset(w);
    CHECK(mcplink_writer_str(w, NULL, 0) == MCPLINK_OK);
    CHECK_STATUS(mcplink_writer_finish(w, &text, &err), MCPLINK_OK, err);
    CHECK_TEXT(text, "\"\"");
    mcplink_writer_free(w);
}

/* Here rather than in the suite: what its other crates need has numbers read in this way. */
static void reads_doubles_exactly(void)
{
    static const struct {
        const char *text;
        double number;
    } cases[] = {
        { "52.520006599999995", 52.520006599999995 },
        { "13.404953999999998", 13.404953999999998 },
        { "-122.41941550000001", -122.41941550000001 },
        { "2.2250738585072011e-308", 2.2250738585072011e-308 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mcplink_json_t *doc = NULL;
        mcplink_error_t *err = NULL;
        CHECK_STATUS(mcplink_json_parse(cases[i].text, MCPLINK_NUL, &doc, &err), MCPLINK_OK, err);
        CHECK(mcplink_json_f64(doc) == cases[i].number);
        mcplink_json_free(doc);
    }
}

static void takes_null(void)
{
    mcplink_json_t *doc = NULL;
    mcplink_error_t *err = NULL;
    mcplink_str_t text;
    CHECK(mcplink_json_parse(NULL, MCPLINK_NUL, &doc, &err) == MCPLINK_E_INVALID);
    mcplink_error_free(err);
    CHECK(mcplink_json_parse("1", 1, NULL, NULL) == MCPLINK_E_INVALID);
    mcplink_json_free(NULL);
    CHECK(mcplink_json_type_of(NULL) == MCPLINK_JSON_MISSING && mcplink_json_len(NULL) == 0);
    CHECK(mcplink_json_get(NULL, "a") == NULL && mcplink_json_get(NULL, NULL) == NULL && mcplink_json_at(NULL, 0) == NULL);
    CHECK(mcplink_json_pointer(NULL, NULL) == NULL && !mcplink_json_i64(NULL, NULL) && mcplink_json_f64(NULL) == 0);
    CHECK_TEXT(mcplink_json_str(NULL), "");
    CHECK_TEXT(mcplink_json_text(NULL), "");
    CHECK_TEXT(mcplink_json_key_at(NULL, 0), "");
    CHECK(!mcplink_json_boolean(NULL));
    mcplink_writer_free(NULL);
    CHECK(mcplink_writer_reset(NULL) == MCPLINK_E_INVALID && mcplink_writer_end(NULL) == MCPLINK_E_INVALID);
    CHECK(mcplink_writer_finish(NULL, &text, NULL) == MCPLINK_E_INVALID);
    mcplink_error_free(NULL);
    CHECK(mcplink_error_status(NULL) == MCPLINK_OK && *mcplink_error_message(NULL) == 0);
    CHECK_TEXT(mcplink_error_data(NULL), "");
}

int main(void)
{
    /* A point stays a point. Without the locale on the machine nothing is lost: then it is "C". */
    setlocale(LC_ALL, "de_DE.UTF-8");
    reads();
    refuses();
    writes();
    reads_doubles_exactly();
    takes_null();
    return 0;
}
