/* A program that pretends to be kustomize: it writes what the file `answer` of the folder holds that it is told to build. A first line of
 * `#endless` makes it go on for ever, and one of `#mistake` makes it fail with what follows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words) {
    char path[4096], text[65536];
    snprintf(path, sizeof path, "%s/answer", words[count - 1]);
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "Error: there is no %s\n", path);
        return 1;
    }
    size_t size = fread(text, 1, sizeof text, file);
    if (size > 8 && !strncmp(text, "#endless", 8))
        for (;;) sleep(1000);
    if (size > 9 && !strncmp(text, "#mistake\n", 9)) {
        fwrite(text + 9, 1, size - 9, stderr);
        return 1;
    }
    fwrite(text, 1, size, stdout);
    return 0;
}
